/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A delegate as an inference runtime would write it: one warmpool delegate for a loaded model, a stream for each of its
 * methods, frees that know neither size nor device, and a teardown that works whatever happened before.
 *
 * It runs on the host backend, whose streams execute functions on the CPU (host.h); on a GPU "launch" is a kernel
 * launch and everything else stays as it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warmpool/host.h"
#include "warmpool/warmpool.h"

/* Ends the program with the reason. A runtime would hand the status to its caller. */
static void check(wp_status status, const char *what) {
  wp_error_info info = WP_ERROR_INFO_INIT;
  if (status == WP_OK) return;
  wp_last_error(&info);
  (void)fprintf(stderr, "%s: %s (%s)\n", what, wp_status_message(status), info.message);
  exit(1);
}

/* -- the model: y = relu(x + 1), summed up -- */

struct tensor {
  float *data;
  size_t count;
};
struct kernel {
  const float *in;
  float *out;
  size_t count;
};

static void add_one_relu(void *argument) {
  const struct kernel *kernel = argument;
  for (size_t i = 0; i < kernel->count; i++) {
    float value = kernel->in[i] + 1;
    kernel->out[i] = value > 0 ? value : 0;
  }
}

static void sum_up(void *argument) {
  const struct kernel *kernel = argument;
  float sum = 0;
  for (size_t i = 0; i < kernel->count; i++) sum += kernel->in[i];
  *kernel->out = sum;
}

/* -- the delegate -- */

struct method {
  wp_stream stream;
};
struct model {
  wp_runtime *runtime;
  wp_delegate *delegate;
  struct method forward, score;
};

static void model_load(struct model *model, wp_runtime *runtime, const char *name) {
  wp_delegate_options options = WP_DELEGATE_OPTIONS_INIT;
  options.name = name;
  model->runtime = runtime;
  check(wp_delegate_open(runtime, 0, &options, &model->delegate), "open");
  check(wp_host_stream_create(0, &model->forward.stream), "stream");
  check(wp_host_stream_create(0, &model->score.stream), "stream");
}

/* One inference. Nothing here waits but the last line: scratch memory is allocated and freed in stream order. */
static float model_run(struct model *model, const struct tensor *input) {
  wp_stream forward = model->forward.stream, score = model->score.stream;
  void *hidden, *result;
  check(wp_alloc(model->delegate, input->count * sizeof(float), forward, &hidden), "hidden");
  struct kernel first = {input->data, hidden, input->count};
  check(wp_host_launch(forward, add_one_relu, &first), "launch");

  /* The second method runs on its own stream, after the first, and reads what that wrote. */
  check(wp_host_stream_wait(score, forward), "order");
  check(wp_alloc(model->delegate, sizeof(float), score, &result), "result");
  struct kernel second = {hidden, result, input->count};
  check(wp_host_launch(score, sum_up, &second), "launch");

  /* `hidden` was allocated on one stream and is used on another, so the free is told about both. */
  const wp_stream users[] = {forward, score};
  check(wp_free_after(model->runtime, hidden, users, 2), "free");

  float sum;
  check(wp_host_stream_synchronize(score), "synchronize");
  (void)memcpy(&sum, result, sizeof sum); /* host memory is device memory here */
  check(wp_free(model->runtime, result, score), "free");
  return sum;
}

/* The streams may go first: what was freed on them has been recorded. */
static void model_unload(struct model *model, wp_release_report *report) {
  check(wp_host_stream_destroy(model->forward.stream), "stream");
  check(wp_host_stream_destroy(model->score.stream), "stream");
  check(wp_delegate_close(model->delegate, report), "close");
}

int main(void) {
  wp_runtime *runtime;
  struct model small, large;
  float input[1000];
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  wp_stats stats = WP_STATS_INIT;
  for (int i = 0; i < 1000; i++) input[i] = (float)(i % 2 == 0 ? -2 : 1);
  const struct tensor tensor = {input, 1000};

  check(wp_runtime_create(NULL, &runtime), "create");
  model_load(&small, runtime, "small");
  model_load(&large, runtime, "large"); /* shares the device's pool with the first */
  for (int i = 0; i < 3; i++) {
    (void)printf("inference %d: %.0f and %.0f\n", i + 1, (double)model_run(&small, &tensor),
                 (double)model_run(&large, &tensor));
  }
  check(wp_delegate_stats(large.delegate, &stats), "stats");
  (void)printf("large: %llu allocations, at most %llu bytes at a time\n", (unsigned long long)stats.allocs,
               (unsigned long long)stats.live_peak);

  model_unload(&small, &report);
  (void)printf("small closed: %llu bytes stay for large\n", (unsigned long long)report.reserved_after);
  model_unload(&large, &report);
  (void)printf("large closed: %llu bytes went back, %llu are left\n", (unsigned long long)report.returned_bytes,
               (unsigned long long)report.reserved_after);
  check(wp_runtime_destroy(runtime), "destroy");
  return 0;
}
