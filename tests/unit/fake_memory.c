/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_state.h"

uint64_t fake_reserved(int device) {
  uint64_t reserved = 0;
  for (int i = 0; i < POOLS; i++) {
    if (st.pools[i].device == device) reserved += st.pools[i].reserved;
  }
  return reserved;
}

static void shrink(int pool, uint64_t keep) {
  for (int i = 0; i < PIECES && st.pools[pool].reserved > keep; i++) {
    struct piece *piece = &st.pieces[i];
    if (!piece->used || piece->live || piece->of_graph || piece->pool != pool ||
        piece->at > st.streams[piece->stream].observed)
      continue;
    st.pools[pool].reserved -= piece->bytes;
    piece->used = false;
  }
}

/* A synchronisation has seen stream `i` up to `at`. */
void fake_observe(int i, uint64_t at) {
  if (st.streams[i].observed >= at) return;
  st.streams[i].observed = at;
  for (int pool = 0; pool < POOLS; pool++) {
    if (st.pools[pool].used && st.pools[pool].device == st.streams[i].device) shrink(pool, st.pools[pool].threshold);
  }
}

/* -- entries: pools -- */

wp_status fake_pool_create(void *self, wp_pool *out) {
  BEGIN_ASK("pool_create");
  fake_need_relaxed();
  if (fake.refuse_pools) return fake_end(fake_error("pool_create", WP_ERROR_NOT_SUPPORTED));
  int i = 0;
  while (i < POOLS && (st.pools[i].used || st.pools[i].reserved > 0)) i++;
  if (i == POOLS) fake_violation("there are too many pools");
  st.pools[i] = (struct pool){.used = true, .device = fake_device};
  *out = &st.pools[i];
  return fake_end(WP_OK);
}
static int pool_of(wp_pool handle) {
  struct pool *pool = handle;
  if (!pool->used) fake_violation("a pool is used that does not exist any more");
  if (pool->device != fake_device) fake_violation("a pool of another device is used");
  return (int)(pool - st.pools);
}
wp_status fake_pool_destroy(void *self, wp_pool handle) {
  BEGIN_ASK("pool_destroy");
  fake_need_relaxed();
  int pool = pool_of(handle);
  st.pools[pool].used = false;
  for (int i = 0; i < PIECES; i++) {
    struct piece *piece = &st.pieces[i];
    if (piece->used && !piece->live && !piece->of_graph && piece->pool == pool) piece->used = false;
  }
  st.pools[pool].reserved = st.pools[pool].in_use;
  return fake_end(WP_OK);
}
wp_status fake_pool_set_threshold(void *self, wp_pool pool, uint64_t bytes) {
  BEGIN_ASK("pool_set_threshold");
  st.pools[pool_of(pool)].threshold = bytes;
  return fake_end(WP_OK);
}
wp_status fake_pool_trim(void *self, wp_pool pool, uint64_t keep_bytes) {
  BEGIN_ASK("pool_trim");
  fake_need_relaxed();
  shrink(pool_of(pool), keep_bytes);
  return fake_end(WP_OK);
}
wp_status fake_pool_usage(void *self, wp_pool pool, wp_pool_usage *out) {
  BEGIN_ASK("pool_usage");
  int i = pool_of(pool);
  *out = (wp_pool_usage){st.pools[i].reserved, st.pools[i].in_use};
  return fake_end(WP_OK);
}
wp_status fake_pool_reset_peaks(void *self, wp_pool pool) {
  BEGIN_ASK("pool_reset_peaks");
  int i = pool_of(pool);
  st.pools[i].peak = st.pools[i].reserved;
  return fake_end(WP_OK);
}

/* -- entries: memory -- */

static struct piece *idle_piece(int pool, size_t bytes, int stream) {
  for (int i = 0; i < PIECES; i++) {
    struct piece *piece = &st.pieces[i];
    if (!piece->used || piece->live || piece->of_graph || piece->pool != pool || piece->bytes != bytes) continue;
    if (piece->stream == stream || fake_is_done(piece->stream, piece->at)) return piece;
  }
  return NULL;
}
static struct piece *make_piece(int pool, size_t bytes) {
  int i = 0;
  while (i < PIECES && st.pieces[i].used) i++;
  if (i == PIECES) fake_violation("there are too many blocks");
  st.pieces[i] = (struct piece){.used = true, .pool = pool, .bytes = bytes, .address = st.next_address};
  st.next_address += bytes;
  return &st.pieces[i];
}
static struct piece *new_piece(int pool, size_t bytes) {
  if (bytes > fake.device_memory - fake_reserved(st.pools[pool].device)) return NULL;
  st.pools[pool].reserved += bytes;
  return make_piece(pool, bytes);
}
wp_status fake_memory_alloc(void *self, wp_pool handle, size_t bytes, wp_stream stream, void **out) {
  BEGIN("memory_alloc", stream, true);
  fake_need_relaxed();
  int pool = pool_of(handle), i = fake_find_stream(stream);
  if (bytes == 0 || bytes % 512 != 0) fake_violation("asks for a size that is not a multiple of 512");
  if (st.streams[i].implicit) fake_violation("allocates on the legacy stream and breaks a capture");
  bool fits = bytes <= fake.device_memory - fake_reserved(st.pools[pool].device);
  if (st.streams[i].capturing && fits) { /* a node of a graph, and an address */
    struct piece *promised = make_piece(pool, bytes);
    promised->of_graph = true;
    *out = (void *)(uintptr_t)promised->address;
    return fake_end(WP_OK);
  }
  struct piece *piece = idle_piece(pool, bytes, i);
  if (piece == NULL) piece = new_piece(pool, bytes);
  if (piece == NULL && fake.null_when_full) {
    *out = NULL;
    return fake_end(WP_OK);
  }
  if (piece == NULL) return fake_end(fake_error("memory_alloc", WP_ERROR_OUT_OF_MEMORY));
  piece->live = true;
  st.pools[pool].in_use += bytes;
  (void)fake_submit(i);
  *out = (void *)(uintptr_t)(piece->address + (fake.odd_addresses ? 8 : 0));
  return fake_end(WP_OK);
}
wp_status fake_memory_free(void *self, void *ptr, wp_stream stream) {
  BEGIN("memory_free", stream, true);
  fake_need_relaxed();
  int i = fake_find_stream(stream);
  if (fake.captures_forbid) return fake_end(fake_error("memory_free", WP_ERROR_CAPTURING));
  for (int k = 0; k < PIECES; k++) {
    struct piece *piece = &st.pieces[k];
    if (!piece->used || piece->address != ((uintptr_t)ptr & ~(uintptr_t)15)) continue;
    if (st.streams[i].capturing) {
      if (!piece->of_graph || piece->freed_inside) fake_violation("frees inside a capture what is not the graph's");
      piece->freed_inside = true;
      return fake_end(WP_OK);
    }
    if (!piece->live && piece->of_graph) return fake_end(fake_error("memory_free", WP_ERROR_INVALID_POINTER));
    if (!piece->live) continue;
    piece->live = false;
    piece->stream = i;
    piece->at = fake_submit(i);
    if (!piece->of_graph) st.pools[piece->pool].in_use -= piece->bytes;
    return fake_end(WP_OK);
  }
  fake_violation("frees what is not live");
}

/* -- entries: graph memory -- */

static uint64_t graph_used(int device) {
  uint64_t used = 0;
  for (int i = 0; i < PIECES; i++) {
    const struct piece *piece = &st.pieces[i];
    if (piece->used && piece->of_graph && piece->live && st.pools[piece->pool].device == device) used += piece->bytes;
  }
  return used;
}
wp_status fake_graph_trim(void *self, int device) {
  BEGIN_ASK("graph_trim");
  fake_need_relaxed();
  st.graph_reserved[device] = graph_used(device);
  return fake_end(WP_OK);
}
wp_status fake_graph_usage(void *self, int device, wp_graph_usage *out) {
  BEGIN_ASK("graph_usage");
  *out = (wp_graph_usage){st.graph_reserved[device], graph_used(device)};
  return fake_end(WP_OK);
}
void fake_graph_launch(int device) {
  uint64_t bytes = 0;
  for (int i = 0; i < PIECES; i++) {
    struct piece *piece = &st.pieces[i];
    if (!piece->used || !piece->of_graph || st.pools[piece->pool].device != device) continue;
    if (piece->live) fake_violation("the test launches a graph whose memory is live");
    piece->live = !piece->freed_inside;
    bytes += piece->bytes;
  }
  if (st.graph_reserved[device] < bytes) st.graph_reserved[device] = bytes;
}
void fake_graph_destroy(int device) {
  for (int i = 0; i < PIECES; i++) {
    struct piece *piece = &st.pieces[i];
    if (piece->of_graph && !piece->live && st.pools[piece->pool].device == device) piece->used = false;
  }
}
