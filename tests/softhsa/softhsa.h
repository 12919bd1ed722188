/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a test can ask of the stand-in for AMD's HSA runtime besides what HSA has. A program that is linked with AMD's
 * HIP runtime gets the stand-in through it, and finds these functions with dlsym(RTLD_DEFAULT, "softhsa_hold") and the
 * like.
 *
 * Rules for all of it:
 *   - Any thread may call any function at any time, also before hsa_init and while everything is held.
 *   - Nothing here waits for a GPU.
 *   - A GPU is named by its index, from 0 on, and -1 stands for all of them together.
 */
#ifndef SOFTHSA_H
#define SOFTHSA_H

#include <stdbool.h>
#include <stdint.h>

/* -- holds: work that is submitted stays pending -- */

/* Whether any queue or copy engine begins new work. What has begun is finished; a wait that has begun goes on waiting.
 */
void softhsa_hold(bool is_held);

/* The same for one queue, which is named by its hsa_queue_t.id. False if there is no such queue. A queue works when
 * neither it nor everything is held. */
bool softhsa_hold_queue(uint64_t queue, bool is_held);

/* The same for all copy engines. A copy does not go through a queue: one with nothing to wait for passes a held queue.
 */
void softhsa_hold_copies(bool is_held);

#define SOFTHSA_NO_QUEUE UINT64_MAX

/* The queue that the calling thread rang the doorbell of last, or SOFTHSA_NO_QUEUE. Send something to a stream, and
 * this is the queue that the runtime has given to it. */
uint64_t softhsa_queue_rung(void);

/* Packets and copies that were submitted and have not been finished. */
uint64_t softhsa_pending(void);

/* -- device memory -- */

/* Device memory in use on that GPU, in whole pages. */
uint64_t softhsa_device_bytes(int gpu);

/* Makes the n-th device allocation from now on fail as if memory had run out, once; 0: none will. */
void softhsa_fail_allocation(uint64_t n);

/* -- what was asked for since the process began. X(NAME, what is counted) -- */

#define SOFTHSA_COUNTERS(X)                                                                                            \
  X(DEVICE_ALLOCATIONS, "device memory allocated, plainly or as a handle to map")                                      \
  X(DEVICE_FREES, "device memory given back")                                                                          \
  X(DEVICE_REFUSALS, "device allocations that failed")                                                                 \
  X(HOST_ALLOCATIONS, "host memory allocated")                                                                         \
  X(HOST_FREES, "host memory freed")                                                                                   \
  X(RESERVES, "address ranges reserved")                                                                               \
  X(UNRESERVES, "address ranges given back")                                                                           \
  X(MAPS, "handles mapped")                                                                                            \
  X(UNMAPS, "handles unmapped")                                                                                        \
  X(PACKETS, "packets finished")                                                                                       \
  X(BARRIERS, "barrier packets among them")                                                                            \
  X(KERNELS, "kernels among them that were run")                                                                       \
  X(IGNORED_KERNELS, "kernels among them that were not run")                                                           \
  X(COPIES, "copies finished by the copy engines")                                                                     \
  X(QUEUES, "queues created")

typedef enum softhsa_counter {
#define SOFTHSA_ENUMERATOR(name, text) SOFTHSA_##name,
  SOFTHSA_COUNTERS(SOFTHSA_ENUMERATOR)
#undef SOFTHSA_ENUMERATOR
      SOFTHSA_COUNTER_COUNT
} softhsa_counter;

uint64_t softhsa_count(softhsa_counter counter); /* 0 for one that does not exist */

#endif
