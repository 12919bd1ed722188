/* SPDX-License-Identifier: Apache-2.0 */
/* What Criterion does beside the tests, and nobody wants tested. In every program of its kind. */
#include <criterion/criterion.h>
#include <criterion/hooks.h>

/* The runner leaks some memory of its own. Tests run in other processes, which do not come here. */
void __lsan_disable(void) __attribute__((weak)); /* there is none without LeakSanitizer */
ReportHook(PRE_ALL)(struct criterion_test_set *tests) {
  (void)tests;
  if (__lsan_disable != NULL) __lsan_disable();
}

/*
 * Each process, and so each test, initialises libgit2. Where that was built with mbed TLS it reads all certificates of
 * the system then, which takes longer than most tests. It finds these in place of mbed TLS's own, and no certificates.
 */
int mbedtls_x509_crt_parse_file(void *chain, const char *path);
int mbedtls_x509_crt_parse_path(void *chain, const char *path);

int mbedtls_x509_crt_parse_file(void *chain, const char *path) {
  (void)chain;
  (void)path;
  return 0;
}

int mbedtls_x509_crt_parse_path(void *chain, const char *path) { return mbedtls_x509_crt_parse_file(chain, path); }
