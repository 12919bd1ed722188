/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

static uint64_t state_of(uint64_t word) { return word & WP__BLOCK_STATE_MASK; }
static uint64_t with_state(uint64_t word, uint64_t state) { return (word & ~WP__BLOCK_STATE_MASK) | state; }
static uint64_t word_of(const wp__block *block) { return atomic_load_explicit(&block->word, memory_order_acquire); }

static void set_state(wp__block *block, uint64_t state) {
  atomic_store_explicit(&block->word, with_state(word_of(block), state), memory_order_release);
}

bool wp__blocks_init(wp__blocks *blocks) {
  wp__mutex_init(&blocks->lock);
  blocks->slabs = wp__os_calloc(WP__SLABS_MAX, sizeof *blocks->slabs);
  return wp__map_init(&blocks->map) && blocks->slabs != NULL;
}

void wp__blocks_destroy(wp__blocks *blocks) {
  for (uint32_t i = 0; blocks->slabs != NULL && i < WP__SLABS_MAX; i++) {
    wp__os_free(atomic_load_explicit(&blocks->slabs[i], memory_order_relaxed));
  }
  wp__os_free((void *)blocks->slabs);
  wp__map_destroy(&blocks->map);
  wp__mutex_destroy(&blocks->lock);
}

static wp__block *record_at(const wp__blocks *blocks, uint32_t index) {
  wp__block *slab = atomic_load_explicit(&blocks->slabs[index / WP__BLOCKS_PER_SLAB], memory_order_acquire);
  return &slab[index % WP__BLOCKS_PER_SLAB];
}

wp__block *wp__block_at(const wp__blocks *blocks, uint32_t index) {
  return index < atomic_load_explicit(&blocks->made, memory_order_acquire) ? record_at(blocks, index) : NULL;
}

/* One record that never was in use, from the newest slab or a new one. */
static wp__block *make_record(wp__blocks *blocks) {
  wp__block *block = NULL;
  wp__mutex_lock(&blocks->lock);
  uint32_t index = atomic_load_explicit(&blocks->made, memory_order_relaxed);
  uint32_t slab = index / WP__BLOCKS_PER_SLAB;
  if (slab < WP__SLABS_MAX) {
    block = atomic_load_explicit(&blocks->slabs[slab], memory_order_relaxed);
    if (block == NULL) {
      block = wp__os_calloc_lines(WP__BLOCKS_PER_SLAB, sizeof *block);
      atomic_store_explicit(&blocks->slabs[slab], block, memory_order_release);
    }
    if (block != NULL) {
      block += index % WP__BLOCKS_PER_SLAB;
      block->index = index;
      atomic_store_explicit(&blocks->made, index + 1, memory_order_release);
    }
  }
  wp__mutex_unlock(&blocks->lock);
  return block;
}

static wp__block *pop_idle(wp__blocks *blocks) {
  uint_least64_t head = atomic_load_explicit(&blocks->idle, memory_order_acquire);
  for (;;) {
    uint32_t first = (uint32_t)head;
    if (first == 0) return NULL;
    wp__block *block = record_at(blocks, first - 1);
    uint64_t next = atomic_load_explicit(&block->next, memory_order_relaxed);
    uint64_t tag = (head >> 32) + 1;
    if (atomic_compare_exchange_weak(&blocks->idle, &head, tag << 32 | next)) return block;
  }
}

wp__block *wp__block_take(wp__blocks *blocks) {
  wp__block *block = pop_idle(blocks);
  if (block == NULL) block = make_record(blocks);
  if (block == NULL) return NULL;
  uint64_t generation = (word_of(block) >> WP__BLOCK_STATE_BITS) + 1;
  atomic_store_explicit(&block->word, generation << WP__BLOCK_STATE_BITS | WP__BLOCK_TAKEN, memory_order_release);
  atomic_store_explicit(&block->guard, NULL, memory_order_relaxed);
  block->uses = NULL;
  block->captured = false;
  return block;
}

void wp__block_drop(wp__blocks *blocks, wp__block *block) {
  set_state(block, WP__BLOCK_IDLE);
  uint_least64_t head = atomic_load_explicit(&blocks->idle, memory_order_relaxed);
  uint64_t tag;
  do {
    atomic_store_explicit(&block->next, (uint32_t)head, memory_order_relaxed);
    tag = (head >> 32) + 1;
  } while (!atomic_compare_exchange_weak(&blocks->idle, &head, tag << 32 | (block->index + 1)));
}

void wp__block_publish(wp__block *block) { set_state(block, WP__BLOCK_LIVE); }

void wp__block_rest(wp__block *block) { set_state(block, WP__BLOCK_DORMANT); }

/* LIVE to `state`, waiting out a LOCKED; false as soon as the block is not that of `word` any more. */
/* One attempt; `seen` is what the word was if it was not that. */
static bool swap_word(wp__block *block, uint_least64_t *seen, uint64_t to) {
  wp__spin *guard = atomic_load_explicit(&block->guard, memory_order_acquire);
  if (guard == NULL) return atomic_compare_exchange_strong(&block->word, seen, to);
  uint64_t from = *seen;
  wp__spin_lock(guard);
  *seen = word_of(block);
  /* The guard is another one only if the block came to be another one meanwhile, and so the word. */
  bool swaps = *seen == from && atomic_load_explicit(&block->guard, memory_order_relaxed) == guard;
  if (swaps) atomic_store_explicit(&block->word, to, memory_order_release);
  wp__spin_unlock(guard);
  return swaps;
}

static bool leave_live(wp__block *block, uint64_t word, uint64_t state) {
  for (;;) {
    uint_least64_t seen = with_state(word, WP__BLOCK_LIVE);
    if (swap_word(block, &seen, with_state(word, state))) return true;
    if (seen == with_state(word, WP__BLOCK_LOCKED)) {
      wp__yield();
    } else if (seen != with_state(word, WP__BLOCK_LIVE)) {
      return false;
    }
  }
}

wp__block *wp__block_claim(wp__blocks *blocks, const void *ptr) {
  wp__block_view view;
  if (!wp__block_find(blocks, ptr, &view)) return NULL;
  return leave_live(view.block, view.word, WP__BLOCK_TAKEN) ? view.block : NULL;
}

static bool leave_dormant(wp__block *block) {
  uint_least64_t word = word_of(block);
  return state_of(word) == WP__BLOCK_DORMANT &&
         atomic_compare_exchange_strong(&block->word, &word, with_state(word, WP__BLOCK_TAKEN));
}

wp__block *wp__block_claim_dormant(wp__blocks *blocks, const void *ptr) {
  wp__block *block = wp__map_get(&blocks->map, ptr);
  if (block == NULL || !leave_dormant(block)) return NULL;
  if (atomic_load_explicit(&block->ptr, memory_order_acquire) == ptr) return block;
  wp__block_rest(block); /* it had come to stand for another address meanwhile */
  return NULL;
}

bool wp__block_claim_on(wp__block *block, const wp__device *device, bool *was_live) {
  wp__block_view view;
  *was_live = wp__block_look(block, &view);
  if (*was_live) return view.device == device && leave_live(block, view.word, WP__BLOCK_TAKEN);
  return atomic_load_explicit(&block->device, memory_order_acquire) == device && leave_dormant(block);
}

bool wp__block_lock(wp__block *block, uint64_t word) { return leave_live(block, word, WP__BLOCK_LOCKED); }
void wp__block_unlock(wp__block *block) { wp__block_publish(block); }

bool wp__block_look(wp__block *block, wp__block_view *view) {
  uint64_t word = word_of(block);
  if (state_of(word) != WP__BLOCK_LIVE && state_of(word) != WP__BLOCK_LOCKED) return false;
  view->block = block;
  view->word = with_state(word, WP__BLOCK_LIVE);
  view->ptr = atomic_load_explicit(&block->ptr, memory_order_acquire);
  view->bytes = atomic_load_explicit(&block->bytes, memory_order_acquire);
  view->device = atomic_load_explicit(&block->device, memory_order_acquire);
  view->delegate = atomic_load_explicit(&block->delegate, memory_order_acquire);
  view->stream = atomic_load_explicit(&block->stream, memory_order_acquire);
  /* All of one life: the word is of the same generation, and live, before and after. */
  word = word_of(block);
  return word == view->word || word == with_state(view->word, WP__BLOCK_LOCKED);
}

bool wp__block_find(wp__blocks *blocks, const void *ptr, wp__block_view *view) {
  wp__block *block = wp__map_get(&blocks->map, ptr);
  return block != NULL && wp__block_look(block, view) && view->ptr == ptr;
}

bool wp__block_find_within(wp__blocks *blocks, const void *ptr, wp__block_view *view) {
  if (wp__block_find(blocks, ptr, view)) return true;
  wp__block *block;
  for (uint32_t i = 0; (block = wp__block_at(blocks, i)) != NULL; i++) {
    if (wp__block_look(block, view) && (uintptr_t)ptr - (uintptr_t)view->ptr < view->bytes) return true;
  }
  return false;
}
