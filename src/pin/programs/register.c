#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

/* constants */

static void *map;
static size_t map_bytes;
static char *pool;
static int is_registered;

/* Gives the pool addresses at a multiple of a huge page; it has no pages yet. */
static int map_pool(void) {
  map_bytes = (POOL_BYTES + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + MARGIN;
  map = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_FLAGS, -1, 0);
  if (map == MAP_FAILED) {
    map = NULL;
    return -1;
  }
  pool = (char *)(((uintptr_t)map + MARGIN) / ALIGNMENT * ALIGNMENT);
  madvise(pool, POOL_BYTES, PAGE_ADVICE);
  return 0;
}

/* Has the kernel find and clear pages: in one call since Linux 5.14,
   else by writing to each. */
static void touch(char *begin, size_t bytes) {
  const int madv_populate_write = 23;
  volatile char *memory = begin;
  if (madvise(begin, bytes, madv_populate_write) == 0) return;
  for (size_t at = 0; at < bytes; at += 4096) memory[at] = 0;
}

/* Each thread touches every THREADS-th part of 32 MiB. */
static void *touch_parts(void *number) {
  const size_t part = (size_t)32 << 20;
  size_t at = (size_t)(intptr_t)number * part;
  for (; at < POOL_BYTES; at += THREADS * part) {
    const size_t left = POOL_BYTES - at;
    touch(pool + at, left < part ? left : part);
  }
  return NULL;
}

void pool_release(void) {
  if (is_registered) cudaHostUnregister(pool);
  if (map != NULL) munmap(map, map_bytes);
  is_registered = 0;
  map = NULL;
  pool = NULL;
}

/* 0, or -1 if it cannot be allocated; then nothing of it is left. */
int pool_obtain(void) {
  pthread_t threads[THREADS];
  int started = 0;
  if (cudaSetDevice(DEVICE) != cudaSuccess) return -1;
  if (map_pool() != 0) return -1;
  for (; started < THREADS; ++started) {
    void *number = (void *)(intptr_t)started;
    if (pthread_create(&threads[started], NULL, touch_parts, number) != 0) break;
  }
  for (int i = 0; i < started; ++i) pthread_join(threads[i], NULL);
  if (started == THREADS) {
    const cudaError_t result =
        cudaHostRegister(pool, POOL_BYTES, cudaHostRegisterPortable);
    is_registered = result == cudaSuccess;
  }
  if (is_registered) return 0;
  pool_release();
  return -1;
}

int main(void) {
  if (pool_obtain() != 0) {
    fputs("the memory cannot be allocated\n", stderr);
    return 1;
  }
  printf("%zu bytes are pinned\n", POOL_BYTES);
  pool_release();
  return 0;
}
