#include "driver/host_calls.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

namespace pinbench {
namespace {

constexpr int kPreferNode = 1;  // MPOL_PREFERRED of linux/mempolicy.h
constexpr int kMaxNodes = 1024;
constexpr int kMaxCpus = 8192;

int run_on(const int* cpus, std::size_t count) {
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(kMaxCpus),
                                                             [](cpu_set_t* s) { CPU_FREE(s); });
  const std::size_t bytes = CPU_ALLOC_SIZE(kMaxCpus);
  CPU_ZERO_S(bytes, set.get());
  for (std::size_t i = 0; i < count; ++i) CPU_SET_S(static_cast<std::size_t>(cpus[i]), bytes, set.get());
  return sched_setaffinity(0, bytes, set.get()) == 0 ? 0 : errno;
}

// The system calls themselves: libnuma would be one more dependency for two lines.
int prefer_node(int node) {
  if (node < 0 || node >= kMaxNodes) return EINVAL;
  constexpr std::size_t kBitsPerWord = 8 * sizeof(unsigned long);
  std::array<unsigned long, kMaxNodes / kBitsPerWord> mask{};
  const auto bit = static_cast<std::size_t>(node);
  mask[bit / kBitsPerWord] |= 1ul << (bit % kBitsPerWord);
  return syscall(SYS_set_mempolicy, kPreferNode, mask.data(), kMaxNodes) == 0 ? 0 : errno;
}

// move_pages without target nodes only reports where pages are.
int nodes_of(void* const* pages, std::size_t count, int* nodes) {
  return syscall(SYS_move_pages, 0, count, pages, nullptr, nodes, 0) == 0 ? 0 : errno;
}

}  // namespace

const HostCalls kSystemCalls{run_on, prefer_node, nodes_of};

}  // namespace pinbench
