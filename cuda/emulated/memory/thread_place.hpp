#pragma once

#include <pthread.h>

#include <cstdint>

namespace pinbench::emulated {

// Where a thread runs and where its new memory is, on a machine of several nodes.
struct ThreadPlace {
  int cpu_node = 0;
  int memory_node = 0;
};

// Both nodes of a thread in one word, which needs no destructor; 0 for a thread that was not placed.
inline pthread_key_t place_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, nullptr);
    return made;
  }();
  return key;
}

inline void place_this_thread(ThreadPlace place) {
  const auto word =
      (static_cast<std::uintptr_t>(place.cpu_node) << 16) | static_cast<std::uintptr_t>(place.memory_node);
  pthread_setspecific(place_key(), reinterpret_cast<void*>(word));
}

// The calling thread's; node 0 if it was not placed.
inline ThreadPlace place_of_this_thread() {
  const auto word = reinterpret_cast<std::uintptr_t>(pthread_getspecific(place_key()));
  return {static_cast<int>(word >> 16), static_cast<int>(word & 0xffff)};
}

}  // namespace pinbench::emulated
