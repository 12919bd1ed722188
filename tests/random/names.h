/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public names that the random program uses and that older headers have otherwise. ci/compare.sh builds the program
 * of today against the headers of an older library; what changed a name says so here, and nowhere else.
 */
#ifndef WARMPOOL_TESTS_RANDOM_NAMES_H
#define WARMPOOL_TESTS_RANDOM_NAMES_H

#include "warmpool/warmpool.h"

typedef wp_pointer_info_t pointer_facts;
#define POINTER_FACTS_INIT WP_POINTER_INFO_INIT
#define POINTER_QUERY wp_pointer_info

#endif
