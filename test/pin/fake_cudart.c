/* A CUDA runtime without a GPU: counts what is pinned, checks it, and refuses
   the call whose number is in FAIL_AT, to register addresses that are no
   multiples of ALIGNMENT or have no pages yet, and threads without a device.
   With NO_POPULATE the kernel is one before 5.14. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long held_pieces = 0;
static long calls = 0;
static size_t pinned_bytes = 0;

static void report(void) {
  fprintf(stderr, "held %ld, pinned in all %zu\n", held_pieces, pinned_bytes);
}

static int pin(size_t bytes) {
  const char* fail_at = getenv("FAIL_AT");
  int fails = 0;
  pthread_mutex_lock(&mutex);
  if (calls == 0) atexit(report);
  fails = ++calls == (fail_at == NULL ? 0 : atol(fail_at));
  if (!fails) {
    ++held_pieces;
    pinned_bytes += bytes;
  }
  pthread_mutex_unlock(&mutex);
  return fails;
}

static void unpin(void) {
  pthread_mutex_lock(&mutex);
  --held_pieces;
  pthread_mutex_unlock(&mutex);
}

int madvise(void* data, size_t bytes, int advice) {
  if (advice == 23 && getenv("NO_POPULATE") != NULL) {
    errno = EINVAL;
    return -1;
  }
  return (int)syscall(SYS_madvise, data, bytes, advice);
}

static int has_pages(void* data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4096) {
    unsigned char is_there = 0;
    if (mincore((char*)data + at, 1, &is_there) != 0 || !(is_there & 1)) return 0;
  }
  return 1;
}

static _Thread_local int has_device = 0;

cudaError_t cudaSetDevice(int device) {
  has_device = device == 0;
  return has_device ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaHostRegister(void* data, size_t bytes, unsigned flags) {
  const char* alignment = getenv("ALIGNMENT");
  if (flags != cudaHostRegisterPortable) return cudaErrorInvalidValue;
  if (alignment != NULL && (uintptr_t)data % strtoull(alignment, NULL, 10) != 0) return cudaErrorInvalidValue;
  if (!has_device || !has_pages(data, bytes)) return cudaErrorInvalidValue;
  if (pin(bytes)) return cudaErrorMemoryAllocation;
  memset(data, 1, bytes); /* all of it must be there */
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* data) {
  *(volatile char*)data = 2;
  unpin();
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned flags) {
  if (flags != cudaHostAllocPortable || !has_device) return cudaErrorInvalidValue;
  if (pin(bytes)) return cudaErrorMemoryAllocation;
  *data = malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  free(data);
  unpin();
  return cudaSuccess;
}
