/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library holds, what it did, and what a release gave back. All sizes are bytes.
 *
 * Unless a comment says otherwise the functions here may be called from any thread at any time, take no part in stream
 * order, and make no driver call.
 */
#ifndef WARMPOOL_STATS_H
#define WARMPOOL_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "warmpool/status.h"

WP_BEGIN_DECLS

typedef struct wp_runtime wp_runtime;
typedef struct wp_delegate wp_delegate;

/*
 * X(name): every counter, once; struct and JSON are made from this list. All are uint64_t.
 *
 *   live_bytes      handed out and not freed, each block rounded up to its usable size
 *   live_peak       highest live_bytes since the device's first use or wp_reset_peaks: exact where a limit is set
 *                   (which requests under way count towards), and in WP_CACHING_DRIVER but for what declared captures
 *                   have; otherwise the highest that was seen when a stream asked for more memory than it had, and
 *                   when the stats were read
 *   live_blocks     number of blocks behind live_bytes
 *   cached_bytes    idle in lanes                                                                            (device)
 *   parked_bytes    freed by the caller, and other streams may still use them: in nobody's hands yet         (device)
 *   capture_bytes   held for graphs (wp_graph_memory) and not live: free within them, or freed in a capture  (device)
 *   reserved_bytes  what the library holds of the driver: live, cached, parked, captured. What the driver's
 *                   own pool keeps beyond that only the driver can tell: wp_query_driver                     (device)
 *   reserved_peak   highest reserved_bytes                                                                   (device)
 *   allocs, frees   calls that handed out a block, or took one back
 *   lane_hits       of the allocs: a freed block of the size was there
 *   lane_misses     of the allocs: other memory of the stream had to be cut up or merged, or more was needed
 *   steals          how often such memory came from another stream, whose work on it had finished
 *   driver_allocs   allocations the driver was asked for and gave, those of wp_prime included; not those that a
 *                   graph makes when it is launched                                                          (device)
 *   driver_frees    frees the driver was given, of such allocations                                          (device)
 *   oom_retries     allocations tried again after the driver said it was out of memory                       (device)
 *   trims           releases that trimmed the driver's pool: last closes, wp_trim, exhaustion, and what later
 *                   calls finished of them                                                                   (device)
 *   trimmed_bytes   what those took out of it                                                                (device)
 *
 * A line marked (device) is 0 in a delegate's stats; in WP_CACHING_DRIVER only declared captures have lanes, and what
 * they leave there is cached only as long as an output shares a segment with it, or the driver refuses it. Counters of
 * calls only grow; a reader on another thread never sees more frees than allocations.
 */
#define WP_STATS_LIST(X)                                                                                               \
  X(live_bytes)                                                                                                        \
  X(live_peak)                                                                                                         \
  X(live_blocks)                                                                                                       \
  X(cached_bytes)                                                                                                      \
  X(parked_bytes)                                                                                                      \
  X(capture_bytes)                                                                                                     \
  X(reserved_bytes)                                                                                                    \
  X(reserved_peak)                                                                                                     \
  X(allocs)                                                                                                            \
  X(frees)                                                                                                             \
  X(lane_hits)                                                                                                         \
  X(lane_misses)                                                                                                       \
  X(steals)                                                                                                            \
  X(driver_allocs)                                                                                                     \
  X(driver_frees)                                                                                                      \
  X(oom_retries)                                                                                                       \
  X(trims)                                                                                                             \
  X(trimmed_bytes)

#define WP_STATS_MEMBER(name) uint64_t name;
typedef struct wp_stats {
  size_t size; /* set by the caller: sizeof(wp_stats) */
  WP_STATS_LIST(WP_STATS_MEMBER)
} wp_stats;
#undef WP_STATS_MEMBER
#define WP_STATS_INIT                                                                                                  \
  { sizeof(wp_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* What the driver says of a device and of this runtime's pool on it. */
typedef struct wp_driver_stats {
  size_t size;             /* set by the caller: sizeof(wp_driver_stats) */
  uint64_t pool_reserved;  /* mapped for the pool; 0 where the runtime has no pool on that device */
  uint64_t pool_used;      /* of that, in blocks that have not been freed */
  uint64_t graph_reserved; /* mapped for captured allocations of the whole process; 0 where this runtime does not use
                              the device, or the driver has no such memory */
  uint64_t graph_used;     /* of that, allocated by a launch and not freed */
  uint64_t device_free;    /* of the whole device, all processes */
  uint64_t device_total;
} wp_driver_stats;
#define WP_DRIVER_STATS_INIT                                                                                           \
  { sizeof(wp_driver_stats), 0, 0, 0, 0, 0, 0 }

/*
 * What a release (the last close, or a trim) found and what it left. It says what did not go back, and why:
 * live_bytes are still in use, pending_bytes wait for work that has not finished, and whatever else is left of
 * reserved_after is held for graphs (capture_bytes), was kept on purpose (keep_bytes) or shares a segment, or the
 * driver's mapping granule, with one of the others.
 */
typedef struct wp_release_report {
  size_t size;              /* set by the caller: sizeof(wp_release_report) */
  uint32_t devices;         /* how many devices the figures sum up */
  uint64_t reserved_before; /* the driver pool's reserved bytes */
  uint64_t reserved_after;
  uint64_t returned_bytes;        /* what went back to the device */
  uint64_t live_bytes;            /* blocks still handed out */
  uint64_t pending_bytes;         /* freed, but the streams that used them have not got so far */
  uint64_t graph_reserved_before; /* the driver's memory for captured allocations, of the whole device */
  uint64_t graph_reserved_after;
  uint64_t graph_live_bytes; /* of live_bytes: allocated on a capturing stream */
  uint64_t waited_ns;        /* nanoseconds the call spent waiting for such work */
} wp_release_report;
#define WP_RELEASE_REPORT_INIT                                                                                         \
  { sizeof(wp_release_report), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/*
 * Fills `out` with the counters of `device` (an ordinal, or WP_DEVICE_CURRENT, which asks the driver which that is);
 * a device this runtime has not used has zeros everywhere.
 * Statuses: WP_OK; WP_ERROR_INVALID_ARGUMENT (NULL, `out->size`, an ordinal below -1); WP_ERROR_NO_DEVICE;
 * WP_ERROR_FORKED; WP_ERROR_DRIVER.
 */
WP_API wp_status wp_device_stats(wp_runtime *runtime, int device, wp_stats *out);

/*
 * Fills `out` with the counters of one delegate, which may be closed as long as one of its blocks is live.
 * Statuses: WP_OK; WP_ERROR_INVALID_ARGUMENT (NULL, `out->size`, a delegate that is gone); WP_ERROR_FORKED.
 */
WP_API wp_status wp_delegate_stats(wp_delegate *delegate, wp_stats *out);

/*
 * Asks the driver, and finishes a release that is due. Costs microseconds and waits for nothing, but a device that
 * nobody in the process has used yet may be set up by the question. Statuses: those of wp_device_stats, and
 * WP_ERROR_OUT_OF_HOST_MEMORY.
 */
WP_API wp_status wp_query_driver(wp_runtime *runtime, int device, wp_driver_stats *out);

/*
 * Sets live_peak and reserved_peak of the device and of its delegates to the present values, and resets the peaks of
 * the driver's pool. `device` as in wp_device_stats, or WP_DEVICE_ALL for every device this runtime has used.
 * Statuses: those of wp_device_stats.
 */
WP_API wp_status wp_reset_peaks(wp_runtime *runtime, int device);

/*
 * Writes the counters of every used device and of every delegate as one JSON object, by snprintf's rules: at most
 * `capacity` bytes including the final NUL are written, and the result is the length of the whole text without the NUL
 * (call it once with NULL and 0 to learn the length; it can grow between two calls). 0 for a NULL runtime or one made
 * before fork().
 */
WP_API size_t wp_stats_json(wp_runtime *runtime, char *buffer, size_t capacity);

WP_END_DECLS

#endif
