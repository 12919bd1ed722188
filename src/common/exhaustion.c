/* SPDX-License-Identifier: Apache-2.0 */
#include "exhaustion.h"

#include "release.h"
#include "runtime.h"

/* Gives back what can go (`wait`: also what has to be waited for) and tries again. */
static wp_status reclaim(wp__device *device, wp_wait wait, wp__attempt *attempt, void *request) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  if (wp__release(device, 0, wait, &report) > WP_PENDING) wp__log_fault(device->runtime, "reclaiming was incomplete");
  (void)wp__counter_add(&device->oom_retries, 1);
  return attempt(device, request);
}

wp_status wp__exhaust(wp__device *device, wp_oom_policy policy, wp__attempt *attempt, void *request) {
  wp_status status = attempt(device, request);
  if (policy == WP_OOM_FAIL) return status;
  if (status == WP_ERROR_OUT_OF_MEMORY) status = reclaim(device, WP_NO_WAIT, attempt, request);
  if (status == WP_ERROR_OUT_OF_MEMORY && policy == WP_OOM_RECLAIM_AND_WAIT) {
    status = reclaim(device, WP_WAIT, attempt, request);
  }
  if (status == WP_ERROR_OUT_OF_MEMORY) {
    /* What the driver mapped before it found that it would not do; all else went before. */
    (void)WP__VENDOR(device->runtime, pool_trim, device->pool, 0);
  }
  return status;
}
