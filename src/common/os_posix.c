/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE 1
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* -- host memory -- */

#ifdef WARMPOOL_TESTING
static atomic_long fail_in;
static atomic_bool fail_always;
static atomic_bool has_failed;
static atomic_long allocations;
static _Thread_local int locks_held;

int wp__test_locks_held(void) { return locks_held; }
void wp__test_count_lock(int change) { locks_held += change; }
long wp__test_allocations(void) { return atomic_load(&allocations); }
bool wp__test_allocation_failed(void) { return atomic_load(&has_failed); }
void wp__test_fail_allocations(bool always) { atomic_store(&fail_always, always); }

void wp__test_fail_allocation(long nth) {
  atomic_store(&has_failed, false);
  atomic_store(&fail_in, nth);
}

static bool allocation_fails(void) {
  if (atomic_load(&fail_always)) return true;
  if (atomic_load(&fail_in) <= 0 || atomic_fetch_sub(&fail_in, 1) != 1) return false;
  atomic_store(&has_failed, true);
  return true;
}
#define COUNT_ALLOCATION(change) ((void)atomic_fetch_add(&allocations, (change)))
#define COUNT_LOCK(change) ((void)(locks_held += (change)))
#else
#define allocation_fails() false
#define COUNT_ALLOCATION(change) ((void)0)
#define COUNT_LOCK(change) ((void)0)
#endif

void *wp__os_calloc(size_t count, size_t size) {
  void *memory = allocation_fails() ? NULL : calloc(count, size);
  if (memory != NULL) COUNT_ALLOCATION(1);
  return memory;
}

void *wp__os_calloc_lines(size_t count, size_t size) {
  void *memory = NULL;
  if (count > SIZE_MAX / size || allocation_fails()) return NULL;
  if (posix_memalign(&memory, WP__CACHE_LINE, count * size) != 0) return NULL;
  COUNT_ALLOCATION(1);
  return memset(memory, 0, count * size);
}

void wp__os_free(void *memory) {
  if (memory != NULL) COUNT_ALLOCATION(-1);
  free(memory);
}

/* -- locks: the pthread calls below fail only where they are misused -- */

void wp__mutex_init(wp__mutex *mutex) { (void)pthread_mutex_init(&mutex->native, NULL); }
void wp__mutex_destroy(wp__mutex *mutex) { (void)pthread_mutex_destroy(&mutex->native); }

void wp__mutex_lock(wp__mutex *mutex) {
  (void)pthread_mutex_lock(&mutex->native);
  COUNT_LOCK(1);
}

void wp__mutex_unlock(wp__mutex *mutex) {
  COUNT_LOCK(-1);
  (void)pthread_mutex_unlock(&mutex->native);
}

void wp__cond_init(wp__cond *cond) { (void)pthread_cond_init(&cond->native, NULL); }
void wp__cond_destroy(wp__cond *cond) { (void)pthread_cond_destroy(&cond->native); }
void wp__cond_wait(wp__cond *cond, wp__mutex *mutex) { (void)pthread_cond_wait(&cond->native, &mutex->native); }
void wp__cond_broadcast(wp__cond *cond) { (void)pthread_cond_broadcast(&cond->native); }

void wp__spin_wait(wp__spin *spin) {
  enum { LOOKS = 256 }; /* before the processor is left to somebody else: perhaps to the thread that has the lock */
  do {
    for (int look = 0; look < LOOKS && atomic_load_explicit(&spin->held, memory_order_relaxed); look++) {
    }
    if (atomic_load_explicit(&spin->held, memory_order_relaxed)) wp__yield();
  } while (atomic_exchange_explicit(&spin->held, true, memory_order_acquire));
}

/* -- threads -- */

struct start {
  void (*function)(void *argument);
  void *argument;
};

static void *run_thread(void *argument) {
  struct start start = *(struct start *)argument;
  wp__os_free(argument);
  start.function(start.argument);
  return NULL;
}

bool wp__thread_start(void (*function)(void *argument), void *argument) {
  struct start *start = wp__os_calloc(1, sizeof *start);
  pthread_t thread;
  if (start == NULL) return false;
  *start = (struct start){function, argument};
  if (pthread_create(&thread, NULL, run_thread, start) != 0) {
    wp__os_free(start);
    return false;
  }
  (void)pthread_detach(thread);
  return true;
}

void wp__yield(void) { (void)sched_yield(); }

uint64_t wp__clock_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void wp__once_run(wp__once *once, void (*function)(void)) { (void)pthread_once(&once->native, function); }

bool wp__tls_create(wp__tls *tls, void (*destructor)(void *value)) {
  return pthread_key_create(&tls->native, destructor) == 0;
}
void *wp__tls_get(const wp__tls *tls) { return pthread_getspecific(tls->native); }
bool wp__tls_set(const wp__tls *tls, void *value) { return pthread_setspecific(tls->native, value) == 0; }

/* -- thread tokens: the thread itself holds one reference, which its end drops -- */

static wp__once token_once = WP__ONCE_INIT;
static wp__tls token_tls;
static bool token_tls_works;

static void end_token(void *value) {
  wp__thread_token *token = value;
  atomic_store_explicit(&token->ended, true, memory_order_release);
  wp__thread_release(token);
}

static void create_token_tls(void) { token_tls_works = wp__tls_create(&token_tls, end_token); }

wp__thread_token *wp__thread_self(void) {
  static atomic_uint_least64_t last_serial;
  wp__once_run(&token_once, create_token_tls);
  if (!token_tls_works) return NULL;
  wp__thread_token *token = wp__tls_get(&token_tls);
  if (token != NULL) return token;
  token = wp__os_calloc(1, sizeof *token);
  if (token == NULL) return NULL;
  atomic_init(&token->references, 1);
  atomic_init(&token->ended, false);
  token->serial = atomic_fetch_add(&last_serial, 1) + 1;
  if (!wp__tls_set(&token_tls, token)) {
    wp__os_free(token);
    return NULL;
  }
  return token;
}

void wp__thread_retain(wp__thread_token *token) { (void)atomic_fetch_add(&token->references, 1); }

void wp__thread_release(wp__thread_token *token) {
  if (token != NULL && atomic_fetch_sub(&token->references, 1) == 1) wp__os_free(token);
}

/* -- fork -- */

static wp__once fork_once = WP__ONCE_INIT;
atomic_uint wp__forks;

static void after_fork_in_child(void) { (void)atomic_fetch_add_explicit(&wp__forks, 1, memory_order_relaxed); }
static void watch_forks(void) { (void)pthread_atfork(NULL, NULL, after_fork_in_child); }

void wp__forks_watch(void) { wp__once_run(&fork_once, watch_forks); }

#ifdef WARMPOOL_TESTING
void wp__test_set_fork_generation(unsigned generation) { atomic_store(&wp__forks, generation); }
#endif

/* -- files -- */

bool wp__file_create(wp__file *file, const char *path) {
  file->native = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return file->native >= 0;
}

bool wp__file_write(const wp__file *file, const char *text, size_t length) {
  while (length > 0) {
    ssize_t written = write(file->native, text, length);
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    text += written;
    length -= (size_t)written;
  }
  return true;
}

bool wp__file_close(wp__file *file) { return close(file->native) == 0; }

/* -- pages -- */

size_t wp__page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

void *wp__pages_reserve(size_t bytes, size_t alignment) {
  /* Takes `alignment` too much and cuts the ends off. */
  char *whole = mmap(NULL, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (whole == MAP_FAILED) return NULL;
  size_t head = (alignment - ((uintptr_t)whole & (alignment - 1))) & (alignment - 1);
  if (head != 0) (void)munmap(whole, head);
  if (alignment != head) (void)munmap(whole + head + bytes, alignment - head);
  return whole + head;
}

void wp__pages_release(void *address, size_t bytes) { (void)munmap(address, bytes); }

static void touch_pages(char *address, size_t bytes) {
  size_t page = wp__page_size();
  for (size_t offset = 0; offset < bytes; offset += page) *(volatile char *)(address + offset) = 0;
}

bool wp__pages_commit(void *address, size_t bytes) {
  if (mprotect(address, bytes, PROT_READ | PROT_WRITE) != 0) return false;
#ifdef MADV_HUGEPAGE
  (void)madvise(address, bytes, MADV_HUGEPAGE); /* where there are large pages, far fewer of them to fetch */
#endif
#ifdef MADV_POPULATE_WRITE
  if (madvise(address, bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) { /* no memory; EINVAL is a kernel before 5.14 */
    wp__pages_decommit(address, bytes);
    return false;
  }
#endif
  touch_pages(address, bytes);
  return true;
}

void wp__pages_decommit(void *address, size_t bytes) {
  /* A fresh mapping in place of the old one: the pages go back and the address stays reserved. */
  (void)mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}
