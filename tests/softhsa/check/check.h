/* SPDX-License-Identifier: Apache-2.0 */
/* Common to the checks: each is a process of its own, in which HSA is begun by `begin` and the environment set before.
 */
#ifndef SOFTHSA_CHECK_H
#define SOFTHSA_CHECK_H

#include <criterion/criterion.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "newer.h"
#include "softhsa.h"

#define MIB ((size_t)1 << 20)
#define REQUIRE(call) cr_assert_eq(call, HSA_STATUS_SUCCESS, "%s failed", #call)

void begin(void); /* hsa_init, and finds the agents */
void end(void);   /* destroys the signals and queues that were made here */

hsa_agent_t cpu(void);
hsa_agent_t gpu(size_t index);
size_t gpu_count(void);
hsa_amd_memory_pool_t pool_of(hsa_agent_t agent); /* its first one */
void *allocate(hsa_agent_t agent, size_t bytes);

hsa_signal_t signal_at(hsa_signal_value_t value);
/* Whether the signal comes to `value` within a second, and whether it still has not after a few milliseconds. */
bool comes_to(hsa_signal_t signal, hsa_signal_value_t value);
bool stays_at(hsa_signal_t signal, hsa_signal_value_t value);

/* Puts a packet into the queue and rings the doorbell. */
hsa_queue_t *queue_create(hsa_agent_t agent);
void queue_destroy(hsa_queue_t *queue);
void push(hsa_queue_t *queue, uint16_t type, const void *packet);
void push_and(hsa_queue_t *queue, const hsa_signal_t *signals, size_t count, hsa_signal_t completion);
void push_or(hsa_queue_t *queue, const hsa_signal_t *signals, size_t count, hsa_signal_t completion);

#endif
