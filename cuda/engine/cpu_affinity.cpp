#include "engine/cpu_affinity.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "driver/error.hpp"

namespace pinbench {
namespace {

constexpr int kPreferNode = 1;  // MPOL_PREFERRED of linux/mempolicy.h
constexpr int kMaxNodes = 1024;
constexpr int kMaxCpus = 8192;

void restrict_to_cpus(const std::vector<int>& cpus) {
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(kMaxCpus),
                                                             [](cpu_set_t* s) { CPU_FREE(s); });
  const std::size_t bytes = CPU_ALLOC_SIZE(kMaxCpus);
  CPU_ZERO_S(bytes, set.get());
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set.get());
  if (sched_setaffinity(0, bytes, set.get()) != 0) {
    throw Error("PLACEMENT_REFUSED",
                std::string("the CPUs asked for cannot be used: ") + std::strerror(errno));
  }
}

// The system call itself: libnuma would be one more dependency for one line.
void prefer_node(int node) {
  if (node < 0 || node >= kMaxNodes) throw Error("PLACEMENT_REFUSED", "no NUMA node " + std::to_string(node));
  constexpr std::size_t kBitsPerWord = 8 * sizeof(unsigned long);
  std::array<unsigned long, kMaxNodes / kBitsPerWord> mask{};
  const auto bit = static_cast<std::size_t>(node);
  mask[bit / kBitsPerWord] |= 1ul << (bit % kBitsPerWord);
  if (syscall(SYS_set_mempolicy, kPreferNode, mask.data(), kMaxNodes) != 0) {
    throw Error("PLACEMENT_REFUSED", "memory of NUMA node " + std::to_string(node) +
                                         " cannot be preferred: " + std::strerror(errno));
  }
}

}  // namespace

void place_this_thread(const Placement& placement) {
  if (!placement.cpus.empty()) restrict_to_cpus(placement.cpus);
  if (placement.numa_node) prefer_node(*placement.numa_node);
}

}  // namespace pinbench
