/* SPDX-License-Identifier: Apache-2.0 */
/* Between mutants.c, which has the simple mutants, pools.c, whose mutants keep books of their own, and lanes.c, whose
 * mutants are inside the library. */
#ifndef WARMPOOL_TESTS_MUTANTS_H
#define WARMPOOL_TESTS_MUTANTS_H

#include "warmpool/backend.h"

/* The vtable that the mutants are made of. */
extern const wp_backend *mutant_inner;

/* Each replaces entries of its own. */
void mutant_pool_not_made(wp_backend *backend);
void mutant_pool_shared(wp_backend *backend);
void mutant_threshold_forgotten(wp_backend *backend);
void mutant_trim_frees_live(wp_backend *backend);
void mutant_gives_nothing_back(wp_backend *backend);

/* These replace none. */
void mutant_steal_unfinished(wp_backend *backend);
void mutant_nothing_gives_way(wp_backend *backend);
void mutant_own_streams_shared(wp_backend *backend);
void mutant_retire_forgets(wp_backend *backend);
void mutant_merge_loses(wp_backend *backend);
void mutant_split_overlaps(wp_backend *backend);
void mutant_parking_dropped(wp_backend *backend);
void mutant_threshold_set_once(wp_backend *backend);
void mutant_lanes_off(wp_backend *backend);
void mutant_seal_ignored(wp_backend *backend);
void mutant_outside_freed_at_once(wp_backend *backend);
void mutant_other_stream_forgotten(wp_backend *backend);
void mutant_abort_keeps(wp_backend *backend);
void mutant_launches_forgotten(wp_backend *backend);
void mutant_note_dropped(wp_backend *backend);
void mutant_event_kept(wp_backend *backend);

#endif
