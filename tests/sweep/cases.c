/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "child.h"

struct case_ cases[CASES_MAX];
unsigned cases_count;

static bool is_possible(const struct scenario *scenario, const struct setting *setting) {
  if ((scenario->flags & SCENARIO_LANES) != 0 && setting->caching != WP_CACHING_LANES) return false;
  if ((scenario->flags & SCENARIO_HERE) != 0 && setting->is_away) return false;
  return (scenario->flags & SCENARIO_DRIVER) == 0 || setting->caching == WP_CACHING_DRIVER;
}

void cases_make(void) {
  const struct scenario *const all[] = {life_scenarios, memory_scenarios, free_scenarios, release_scenarios,
                                        capture_scenarios};
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
    for (const struct scenario *scenario = all[i]; scenario->name != NULL; scenario++) {
      for (unsigned j = 0; j < settings_count && cases_count < CASES_MAX; j++) {
        if (!is_possible(scenario, &settings[j])) continue;
        struct case_ *made = &cases[cases_count++];
        made->scenario = scenario;
        made->setting = &settings[j];
        (void)snprintf(made->name, sizeof made->name, "%s:%s", scenario->name, settings[j].name);
      }
    }
  }
}
