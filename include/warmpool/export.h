/* SPDX-License-Identifier: Apache-2.0 */
/* Visibility of the public functions. Programs need nothing from this file. */
#ifndef WARMPOOL_EXPORT_H
#define WARMPOOL_EXPORT_H

#if defined(WARMPOOL_STATIC)
#define WP_API
#elif defined(_WIN32) && defined(WARMPOOL_BUILDING)
#define WP_API __declspec(dllexport)
#elif defined(_WIN32)
#define WP_API __declspec(dllimport)
#elif defined(__GNUC__)
#define WP_API __attribute__((visibility("default")))
#else
#define WP_API
#endif

#ifdef __cplusplus
#define WP_BEGIN_DECLS extern "C" {
#define WP_END_DECLS }
#else
#define WP_BEGIN_DECLS
#define WP_END_DECLS
#endif

#endif
