#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdio.h>

/* constants */

static void *pool;

void pool_release(void) {
  cudaFreeHost(pool);
  pool = NULL;
}

/* 0, or -1 if it cannot be allocated. */
int pool_obtain(void) {
  if (cudaSetDevice(DEVICE) != cudaSuccess) return -1;
  const cudaError_t result =
      cudaHostAlloc(&pool, POOL_BYTES, cudaHostAllocPortable);
  return result == cudaSuccess ? 0 : -1;
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
