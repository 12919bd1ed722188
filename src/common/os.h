/* SPDX-License-Identifier: Apache-2.0 */
/* What the library needs of the operating system, and nothing else: porting means writing another os_NAME.c. */
#ifndef WARMPOOL_COMMON_OS_H
#define WARMPOOL_COMMON_OS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -- host memory: the library's only way to get any; zeroed, NULL when there is none -- */

void *wp__os_calloc(size_t count, size_t size);
void wp__os_free(void *memory); /* NULL is fine */

/* The same at the start of a cache line, for what threads beside one another write. Processors fetch lines in pairs. */
#define WP__CACHE_LINE 128u
void *wp__os_calloc_lines(size_t count, size_t size);

/* -- locks: not recursive; waiting for a condition gives the mutex up meanwhile -- */

typedef struct wp__mutex {
  pthread_mutex_t native;
} wp__mutex;
typedef struct wp__cond {
  pthread_cond_t native;
} wp__cond;
#define WP__MUTEX_INIT                                                                                                 \
  { PTHREAD_MUTEX_INITIALIZER }
#define WP__COND_INIT                                                                                                  \
  { PTHREAD_COND_INITIALIZER }

void wp__mutex_init(wp__mutex *mutex);
void wp__mutex_destroy(wp__mutex *mutex);
void wp__mutex_lock(wp__mutex *mutex);
void wp__mutex_unlock(wp__mutex *mutex);
void wp__cond_init(wp__cond *cond);
void wp__cond_destroy(wp__cond *cond);
void wp__cond_wait(wp__cond *cond, wp__mutex *mutex);
void wp__cond_broadcast(wp__cond *cond);

/* A lock for short sections without a call into the system. All zeros is an open one. */
typedef struct wp__spin {
  atomic_bool held;
} wp__spin;
void wp__spin_wait(wp__spin *spin); /* the slow part of wp__spin_lock */
#ifdef WARMPOOL_TESTING
void wp__test_count_lock(int change);
#else
#define wp__test_count_lock(change) ((void)0)
#endif
static inline void wp__spin_lock(wp__spin *spin) {
  if (atomic_exchange_explicit(&spin->held, true, memory_order_acquire)) wp__spin_wait(spin);
  wp__test_count_lock(1);
}
static inline void wp__spin_unlock(wp__spin *spin) {
  wp__test_count_lock(-1);
  atomic_store_explicit(&spin->held, false, memory_order_release);
}

/* -- threads -- */

/* Starts a thread that cleans up after itself. False when there are no resources for one. */
bool wp__thread_start(void (*function)(void *argument), void *argument);
void wp__yield(void);
uint64_t wp__clock_ns(void); /* monotonic */

/* Runs `function` once in the process; later and concurrent callers return after it has run. */
typedef struct wp__once {
  pthread_once_t native;
} wp__once;
#define WP__ONCE_INIT                                                                                                  \
  { PTHREAD_ONCE_INIT }
void wp__once_run(wp__once *once, void (*function)(void));

/* A value for each thread, with a destructor that runs when a thread with a non-NULL value ends. */
typedef struct wp__tls {
  pthread_key_t native;
} wp__tls;
bool wp__tls_create(wp__tls *tls, void (*destructor)(void *value));
void *wp__tls_get(const wp__tls *tls);
bool wp__tls_set(const wp__tls *tls, void *value);

/*
 * A thread's identity, which outlives it as long as somebody holds a reference. Serials start at 1 and never repeat.
 * `ended` is set when the thread ends; nothing else happens then.
 */
typedef struct wp__thread_token {
  atomic_uint references;
  atomic_bool ended;
  uint64_t serial;
} wp__thread_token;
wp__thread_token *wp__thread_self(void); /* the caller's, without a new reference; NULL when out of host memory */
void wp__thread_retain(wp__thread_token *token);
void wp__thread_release(wp__thread_token *token);

/* How many fork()s lie between this process and the one that first called wp__forks_watch. */
void wp__forks_watch(void);
extern atomic_uint wp__forks;
static inline unsigned wp__fork_generation(void) { return atomic_load_explicit(&wp__forks, memory_order_relaxed); }

/* -- files that are written from the front; errno tells why something did not work -- */

typedef struct wp__file {
  int native;
} wp__file;
bool wp__file_create(wp__file *file, const char *path); /* empties one that is there */
bool wp__file_write(const wp__file *file, const char *text, size_t length);
bool wp__file_close(wp__file *file);

/* -- pages: address space reserved first, made present and given back in pieces -- */

size_t wp__page_size(void);
void *wp__pages_reserve(size_t bytes, size_t alignment); /* NULL when there is no address space */
void wp__pages_release(void *address, size_t bytes);
bool wp__pages_commit(void *address, size_t bytes);   /* readable, writable, zero, and present */
void wp__pages_decommit(void *address, size_t bytes); /* inaccessible, and the memory is the system's again */

/* -- for tests, in builds with WARMPOOL_TESTING -- */

#ifdef WARMPOOL_TESTING
int wp__test_locks_held(void);               /* by the calling thread */
void wp__test_fail_allocation(long nth);     /* the nth wp__os_calloc from now fails, once; 0: none will */
void wp__test_fail_allocations(bool always); /* every one fails */
long wp__test_allocations(void);             /* wp__os_calloc minus wp__os_free */
bool wp__test_allocation_failed(void);       /* whether the one that was asked for did fail */
void wp__test_set_fork_generation(unsigned generation);
#endif

#endif
