/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#define FIRST_BUCKETS ((size_t)1 << 10)
#define LOAD 2 /* blocks to a bucket, before there are more buckets */

static wp__mutex lock = WP__MUTEX_INIT;
static struct wp__host_block *first_buckets[FIRST_BUCKETS];
static struct wp__host_block **buckets = first_buckets;
static size_t bucket_count = FIRST_BUCKETS; /* a power of two */
static size_t block_count;

static struct wp__host_block **bucket_of(struct wp__host_block **table, size_t count, const void *address) {
  uint64_t hash = (uint64_t)((uintptr_t)address / WP__HOST_ALLOCATION_STEP) * 0x9e3779b97f4a7c15u;
  return &table[(size_t)(hash >> 32) & (count - 1)];
}

/* Without host memory the chains just grow longer. */
static void grow(void) {
  size_t count = bucket_count * 4;
  struct wp__host_block **table = wp__os_calloc(count, sizeof *table);
  if (table == NULL) return;
  for (size_t i = 0; i < bucket_count; ++i) {
    for (struct wp__host_block *block = buckets[i], *next; block != NULL; block = next) {
      struct wp__host_block **bucket = bucket_of(table, count, block->address);
      next = block->next;
      block->next = *bucket;
      *bucket = block;
    }
  }
  if (buckets != first_buckets) wp__os_free(buckets);
  buckets = table;
  bucket_count = count;
}

void wp__host_block_map_add(struct wp__host_block *block) {
  wp__mutex_lock(&lock);
  if (++block_count > bucket_count * LOAD) grow();
  struct wp__host_block **bucket = bucket_of(buckets, bucket_count, block->address);
  block->next = *bucket;
  *bucket = block;
  wp__mutex_unlock(&lock);
}

struct wp__host_block *wp__host_block_map_take(void *address, int device) {
  wp__mutex_lock(&lock);
  struct wp__host_block **link = bucket_of(buckets, bucket_count, address);
  while (*link != NULL && (*link)->address != address) link = &(*link)->next;
  struct wp__host_block *block = *link;
  if (block != NULL && block->segment->pool->device != device) block = NULL;
  if (block != NULL) {
    *link = block->next;
    --block_count;
  }
  wp__mutex_unlock(&lock);
  return block;
}
