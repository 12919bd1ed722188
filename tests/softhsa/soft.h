/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common to the stand-in's files.
 *
 * One lock and one condition serve everything that waits: signals, queues and copy engines. Whoever changes something
 * that another may wait for does so under the lock, or tells afterwards with soft_tell. A test's machine has few queues
 * and a packet costs microseconds here, so this is fast enough, and easy to be sure of.
 */
#ifndef SOFTHSA_SOFT_H
#define SOFTHSA_SOFT_H

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "newer.h"
#include "softhsa.h"

#define SOFT_PAGE ((size_t)4096)
#define SOFT_MAX_GPUS 16

/* -- settings.c: the environment, read once -- */

struct soft_settings {
  int gpus;
  uint64_t vram; /* bytes, of each GPU */
  bool has_vmem;
  const char *isa;
  unsigned packet_us;  /* how long a packet takes at least */
  unsigned to_host_us; /* how long a copy to the host takes at least */
  int verbose;
};

const struct soft_settings *soft_settings(void);

/* Says on stderr what happens, where SOFTHSA_VERBOSE is at least `level`: 1 for what is not supported, 2 for all. */
__attribute__((format(printf, 2, 3))) void soft_say(int level, const char *format, ...);
#define SOFT_UNSUPPORTED 1
#define SOFT_TRACE 2

/* -- agents and memory pools are told by their handles -- */

enum soft_pool_kind { SOFT_HOST_FINE = 1, SOFT_HOST_KERNARG, SOFT_HOST_COARSE, SOFT_VRAM, SOFT_LDS };

hsa_agent_t soft_cpu(void);
hsa_agent_t soft_gpu(int index);
int soft_gpu_index(hsa_agent_t agent); /* -1: not a GPU */
hsa_amd_memory_pool_t soft_pool(enum soft_pool_kind kind, int gpu);
enum soft_pool_kind soft_pool_kind(hsa_amd_memory_pool_t pool);
int soft_pool_gpu(hsa_amd_memory_pool_t pool);

/* -- wait.c -- */

uint64_t soft_now(void); /* nanoseconds, of the clock that HSA timestamps have here */
void soft_sleep_us(unsigned microseconds);
void soft_lock(void);
void soft_unlock(void);
void soft_tell_locked(void);
void soft_tell(void);
void soft_await_locked(void);                    /* until something changes */
void soft_await_until_locked(uint64_t deadline); /* ... or that time has come */

/* How often a waiter looks at a word that somebody may write without telling: a signal's value through its pointer, or
 * memory that a stream waits for. */
#define SOFT_POLL_NS 200000u

/* -- counters.c -- */

void soft_count(softhsa_counter counter);

/* -- signal.c -- */

int64_t soft_signal_value(hsa_signal_t signal);
bool soft_compare(int64_t value, hsa_signal_condition_t condition, int64_t with);
void soft_complete(hsa_signal_t signal, uint64_t start); /* of work that began then; no signal: nothing */
bool soft_all_arrived(const hsa_signal_t *signals, size_t count);
bool soft_any_arrived(const hsa_signal_t *signals, size_t count);
/* queue.c: what to do where the signal is a doorbell, for the packets up to that one. */
void soft_doorbell_rung(hsa_signal_t signal, int64_t index);
bool soft_handlers_start(void);
void soft_handlers_stop(void);

/* -- queue.c -- */

struct soft_queue {
  amd_queue_t amd;           /* what the runtime sees of it */
  unsigned char newer[4096]; /* zeros, where newer headers have further fields */
  uint64_t read, write;      /* indexes; atomic */
  uint64_t announced;        /* packets before this index may be taken; atomic */
  bool is_stopped, is_held;  /* under the lock */
  pthread_t thread;
  struct soft_queue *next;
};

static inline unsigned long long soft_queue_id(const struct soft_queue *queue) { return queue->amd.hsa_queue.id; }

/* Lets a packet that polls rest a moment. False if the queue is being destroyed, and the packet has to give up. */
bool soft_queue_rest(struct soft_queue *queue);
bool soft_everything_is_held_locked(void);
uint64_t soft_copies_pending_locked(void); /* copy.c */

/* -- packet.c -- */

typedef union soft_packet {
  uint16_t header;
  hsa_kernel_dispatch_packet_t dispatch;
  hsa_barrier_and_packet_t barrier_and;
  hsa_barrier_or_packet_t barrier_or;
  hsa_amd_barrier_value_packet_t barrier_value;
} soft_packet;

unsigned soft_packet_type(const soft_packet *packet);
/* Runs it to its end, or until the queue is stopped. The signal to complete is in `completion`. */
void soft_packet_run(struct soft_queue *queue, const soft_packet *packet, hsa_signal_t *completion);

/* -- kernel.c and blit.c: code objects, and what some kernels do -- */

typedef void soft_blit(struct soft_queue *queue, const void *arguments);

/* What the kernel of that name and number of arguments does, or NULL. The number is 0 where it is not known. */
soft_blit *soft_blit_find(const char *name, unsigned arguments);
void soft_kernel_run(struct soft_queue *queue, const hsa_kernel_dispatch_packet_t *packet);

/* -- copy.c -- */

void soft_engines_stop(void);

/* -- memory.c -- */

/* Takes device memory from a GPU's, or refuses. */
bool soft_vram_take(int gpu, size_t bytes);
void soft_vram_give(int gpu, size_t bytes);
uint64_t soft_vram_used(int gpu); /* -1: of all */

#endif
