/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a backend cannot do: tests that are expected to fail there, each with the reason. A test of this list that
 * passes fails the run, so the list cannot outlive its reasons.
 */
#ifndef WARMPOOL_TESTS_GAPS_H
#define WARMPOOL_TESTS_GAPS_H

struct gap {
  const char *backend; /* wp_backend's name */
  const char *test;    /* "suite/test" */
  const char *reason;
};

static const struct gap gaps[] = {
    {NULL, NULL, NULL}, /* ends the list */
};

#endif
