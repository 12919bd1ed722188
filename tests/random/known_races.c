/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ThreadSanitizer finds in the library and will be mended, so that it shows all else. It asks for this function.
 *
 *   has_ended   a thread's token is read after it was freed (issue 4 of 15)
 */
#if defined __SANITIZE_THREAD__
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) { return "race:has_ended\n"; }
#else
typedef int nothing_is_known; /* a file declares something */
#endif
