/* SPDX-License-Identifier: Apache-2.0 */
/* What makes AMD's runtimes crash or hang when it is done to them directly, done through the library. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "rig.h"
#include "warmpool/warmpool.h"

enum { BYTES = 1 << 20 };

static wp_runtime *runtime;
static wp_delegate *delegate;

/* Lanes do much less of that to the driver. */
static void open_delegate(void) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  options.caching = WP_CACHING_DRIVER;
  cr_assert_eq(wp_runtime_create(&options, &runtime), WP_OK);
  cr_assert_eq(wp_delegate_open(runtime, 0, NULL, &delegate), WP_OK);
}

static void close_delegate(void) {
  cr_expect_eq(wp_delegate_close(delegate, NULL), WP_OK);
  cr_expect_eq(wp_runtime_destroy(runtime), WP_OK);
}

static void *take(wp_stream stream) {
  void *memory = NULL;
  cr_assert_eq(wp_alloc(delegate, BYTES, stream, &memory), WP_OK);
  return memory;
}

static wp_status give(void *memory, wp_stream stream) { return wp_free(runtime, memory, stream); }

/* H1: with the runtime's own number and text. */
Test(no_device, is_what_open_answers) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  wp_error_info info = WP_ERROR_INFO_INIT;
  /* Each is read when what it is for begins: a stand-in, or CUDA. */
  (void)setenv("SOFTHSA_GPUS", "0", 1);
  (void)setenv("WARMPOOL_HOST_DEVICES", "0", 1);
  (void)setenv("CUDA_VISIBLE_DEVICES", "", 1);
  cr_assert_eq(wp_runtime_create(&options, &runtime), WP_OK);
  for (int i = 0; i < 3; i++) {
    cr_expect_eq(wp_delegate_open(runtime, i == 0 ? WP_DEVICE_CURRENT : 0, NULL, &delegate), WP_ERROR_NO_DEVICE);
    wp_last_error(&info);
    cr_expect(info.code == 100 || info.code == 101, "%d", info.code);
    cr_expect_neq(info.message[0], '\0');
  }
  cr_expect_eq(wp_runtime_destroy(runtime), WP_OK);
}

/* H8 */
Test(hard_frees, of_nothing_and_of_what_is_free_harm_nothing) {
  open_delegate();
  wp_stream stream = rig_stream_create(0);
  for (int i = 0; i < 100; i++) {
    void *memory = take(stream);
    cr_expect_eq(give(NULL, stream), WP_OK);
    cr_expect_eq(give(memory, stream), WP_OK);
    cr_expect_eq(give(memory, stream), WP_ERROR_INVALID_POINTER);
  }
  rig_stream_destroy(stream);
  close_delegate();
}

/* H8, H9: streams come and go, with memory of theirs live, cached, or freed elsewhere after they have gone. */
Test(hard_streams, may_be_destroyed_whatever_became_of_their_memory) {
  open_delegate();
  wp_stream other = rig_stream_create(0);
  for (int i = 0; i < 100; i++) {
    wp_stream stream = rig_stream_create(0);
    void *live = take(stream);
    cr_expect_eq(give(take(stream), stream), WP_OK);
    rig_fill(stream, live, i, BYTES);
    rig_wait(other, stream); /* for on NVIDIA the stream's end waits for nothing */
    rig_stream_destroy(stream);
    cr_expect_eq(give(live, other), WP_OK);
  }
  rig_stream_destroy(other);
  close_delegate();
}

/* H10: while a blocking stream captures, the runtime frees nothing, or crashes. */
Test(hard_captures, of_a_blocking_stream_put_frees_off) {
  open_delegate();
  wp_stream blocking = rig_stream_create_blocking(0), stream = rig_stream_create(0);
  for (int i = 0; i < 50; i++) {
    void *on_stream = take(stream), *on_legacy = take(WP_STREAM_LEGACY);
    rig_capture_begin(blocking, RIG_CAPTURE_RELAXED);
    wp_status status = give(on_stream, stream);
    cr_expect(status == WP_OK || status == WP_ERROR_CAPTURING, "%s", wp_status_name(status));
    cr_expect_eq(give(on_legacy, WP_STREAM_LEGACY), WP_ERROR_CAPTURING);
    rig_graph *graph = rig_capture_end(blocking);
    cr_assert_not_null(graph);
    if (status != WP_OK) cr_expect_eq(give(on_stream, stream), WP_OK);
    cr_expect_eq(give(on_legacy, WP_STREAM_LEGACY), WP_OK);
    rig_graph_destroy(graph);
  }
  rig_stream_destroy(blocking);
  rig_stream_destroy(stream);
  close_delegate();
}

/* H9, H11: a runtime's pool is destroyed once, and when nothing of it is live. */
Test(hard_runtimes, come_and_go) {
  for (int i = 0; i < 50; i++) {
    open_delegate();
    wp_stream stream = rig_stream_create(0);
    void *live = take(stream);
    cr_expect_eq(wp_delegate_close(delegate, NULL), WP_OK);
    cr_expect_eq(wp_runtime_destroy(runtime), WP_ERROR_BUSY);
    cr_expect_eq(give(live, stream), WP_OK);
    rig_stream_synchronize(stream);
    cr_expect_eq(wp_runtime_destroy(runtime), WP_OK);
    rig_stream_destroy(stream);
  }
}

/* H18: what is asked on behalf of others may not end the capture of a stream that memory was freed on before. */
Test(hard_captures, are_not_harmed_by_frees_on_the_stream_before) {
  open_delegate();
  wp_stream stream = rig_stream_create(0), other = rig_stream_create(0);
  void *memory = take(stream);
  rig_hold *hold = rig_hold_stream(other);
  cr_expect_eq(give(memory, other), WP_OK); /* waits until `other` is there */
  rig_capture_begin(other, RIG_CAPTURE_RELAXED);
  cr_expect_eq(give(take(stream), stream), WP_OK);
  rig_graph *graph = rig_capture_end(other);
  cr_expect_not_null(graph, "invalidated");
  rig_release(hold);
  if (graph != NULL) rig_graph_destroy(graph);
  rig_stream_destroy(stream);
  rig_stream_destroy(other);
  close_delegate();
}
