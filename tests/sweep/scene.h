/* SPDX-License-Identifier: Apache-2.0 */
/* What a scenario happens in: a runtime, delegates, streams and blocks, and what the counters should say of them. */
#ifndef WARMPOOL_TESTS_SWEEP_SCENE_H
#define WARMPOOL_TESTS_SWEEP_SCENE_H

#include "failing.h"
#include "listed.h"
#include "rig.h"
#include "warmpool/warmpool.h"

#define MIB ((size_t)1 << 20)

/* The options that scenarios run under. */
struct setting {
  const char *name;
  wp_caching caching;
  wp_stream_contract contract;
  wp_wait release_wait;
  wp_oom_policy oom;
  bool is_away;    /* another device is current */
  bool is_limited; /* limits are set, and bound what may stay idle */
};
extern const struct setting settings[];
extern const unsigned settings_count;

enum { BLOCKS = 24, HOLDS = 4, MANY = 100 };

struct scene {
  const struct setting *setting;
  int device, current; /* what it happens on; what is current */
  wp_runtime_options options;
  wp_runtime *runtime;     /* NULL: none, or destroyed */
  wp_delegate *delegate;   /* NULL: closed */
  wp_delegate *second;     /* may be NULL */
  wp_stream s, t, u;       /* of `device` */
  const wp_stream *many;   /* MANY of them, of `device`; scene_many() makes them */
  rig_hold *holds[HOLDS];  /* released at the end of the scene, or before */
  wp_capture *capture;     /* open, or NULL */
  wp_graph_memory *memory; /* not released, or NULL */
  wp_graph_memory *share;  /* of another graph */
  wp_stream capturing;     /* the vendor captures it; NULL: none */
  bool has_foreign;        /* the driver made memory for a graph that was not declared */
  bool is_without_pools;   /* a device has been found to have none, which is remembered */
  unsigned log_lines;

  /* The model. */
  struct block {
    void *ptr;
    uint64_t bytes;
    wp_stream stream;
  } blocks[BLOCKS];
  unsigned live;
  uint64_t live_bytes, allocs, frees;

  /* Of the call that is tried: what it is given, and what it gives. */
  void *target; /* a live block */
  void *out;
  wp_stream out_stream; /* that `out` is allocated on */
  wp_runtime *made;
  wp_delegate *opened;
  wp_capture *begun;
  wp_graph_memory *ended;
  wp_release_report report;
  wp_driver_stats driver;
  wp_stats stats;
  wp_pointer_info_t info;
};

/* The outputs before the call. */
void scene_clear_outputs(struct scene *scene);
extern char scene_untouched; /* its address is in those that are pointers */

void scene_prepare_process(void); /* once in a child, before all else */

/* A failure of these ends the trial with a finding of `kind`. */
void scene_start(struct scene *scene, const struct setting *setting, const wp_runtime_options *options);
void scene_must(wp_status status, const char *what);

void *scene_alloc(struct scene *scene, size_t bytes, wp_stream stream);
void scene_free(struct scene *scene, void *ptr, wp_stream stream);
void scene_note(struct scene *scene, void *ptr, wp_stream stream);
void scene_hold(struct scene *scene, wp_stream stream); /* stalls it until the end */
void scene_release_holds(struct scene *scene);
void scene_synchronize(struct scene *scene);
void scene_many(struct scene *scene);
uint64_t scene_device_bytes(const struct scene *scene); /* free on the device */

/* `stream` waits for `other`; one of them is captured, and may not be asked which device is its. */
void scene_wait(struct scene *scene, wp_stream stream, wp_stream other);

/* The vendor captures `stream`, which is declared or not. */
void scene_capture(struct scene *scene, wp_stream stream);
void scene_end_capture(struct scene *scene);

bool scene_driver_is_counted(void); /* the driver's host memory is counted with the library's */

/* The model. */
bool scene_is_live(const struct scene *scene, const void *ptr);
void scene_has(struct scene *scene, void *ptr, wp_stream stream);
void scene_lost(struct scene *scene, const void *ptr);

/* Gives everything back; what does not go back is a finding. */
void scene_end(struct scene *scene);
void scene_end_streams(const struct scene *scene); /* after that */

#endif
