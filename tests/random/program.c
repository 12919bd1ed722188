/* SPDX-License-Identifier: Apache-2.0 */
/* Which operations a seed stands for. */
#include "random.h"

uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

const char *operation_name(operation kind) {
#define NAME(name, weight) #name,
  static const char *const names[] = {OPERATIONS(NAME) "the end"};
#undef NAME
  return names[kind];
}

/* Programs have characters: each has more of some operations, and none of others. */
static uint64_t weight_of(uint64_t seed, operation kind) {
#define WEIGHT(name, weight) weight,
  static const unsigned weights[] = {OPERATIONS(WEIGHT)};
#undef WEIGHT
  uint64_t character = mix(seed * 64 + (unsigned)kind) % 8;
  if (kind == OP_allocate || kind == OP_give_back || kind == OP_open) return weights[kind];
  return character == 0 ? 0 : character < 6 ? weights[kind] : 3 * weights[kind];
}

static operation kind_at(uint64_t seed, uint64_t number) {
  uint64_t sum = 0;
  for (int kind = 0; kind < OP_COUNT; kind++) sum += weight_of(seed, (operation)kind);
  uint64_t left = number % sum;
  for (int kind = 0; kind < OP_COUNT; kind++) {
    uint64_t weight = weight_of(seed, (operation)kind);
    if (left < weight) return (operation)kind;
    left -= weight;
  }
  return OP_allocate;
}

void operation_at(uint64_t seed, unsigned number, unsigned index, op *out) {
  uint64_t base = mix(seed) + ((uint64_t)number << 40) + (uint64_t)index * 8;
  out->kind = kind_at(seed, mix(base));
  for (unsigned i = 0; i < 5; i++) out->with[i] = (uint32_t)(mix(base + 1 + i) >> 16);
}

unsigned pick(unsigned nth, unsigned below) { return self->now.with[nth] % below; }
