/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <time.h>

#include "soft.h"

#define NS_PER_SECOND 1000000000u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;

/* The condition has to go by the monotonic clock, which no static initialiser can say. */
__attribute__((constructor)) static void set_up(void) {
  pthread_condattr_t attributes;
  (void)pthread_condattr_init(&attributes);
  (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  (void)pthread_cond_init(&changed, &attributes);
  (void)pthread_condattr_destroy(&attributes);
}

uint64_t soft_now(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

void soft_sleep_us(unsigned microseconds) {
  struct timespec time = {.tv_sec = microseconds / 1000000, .tv_nsec = (long)(microseconds % 1000000) * 1000};
  if (microseconds != 0) (void)nanosleep(&time, NULL);
}

void soft_lock(void) { (void)pthread_mutex_lock(&lock); }
void soft_unlock(void) { (void)pthread_mutex_unlock(&lock); }
void soft_tell_locked(void) { (void)pthread_cond_broadcast(&changed); }

void soft_tell(void) {
  /* Under the lock: a waiter that has just found nothing must not miss it. */
  soft_lock();
  soft_tell_locked();
  soft_unlock();
}

void soft_await_locked(void) { (void)pthread_cond_wait(&changed, &lock); }

void soft_await_until_locked(uint64_t deadline) {
  struct timespec time = {.tv_sec = (time_t)(deadline / NS_PER_SECOND), .tv_nsec = (long)(deadline % NS_PER_SECOND)};
  (void)pthread_cond_timedwait(&changed, &lock, &time);
}
