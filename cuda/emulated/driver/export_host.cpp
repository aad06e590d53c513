// The calls that place threads and memory on emulated nodes.
#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "driver/host_calls.hpp"
#include "emulated/driver/driver.hpp"

namespace pinbench::emulated {
namespace {

const NumaFacts& facts() {
  return *Driver::instance().settings().numa;
}

// A thread's memory is on the node where it runs, until it prefers another node.
int run_on(const int* cpus, std::size_t count) {
  const auto& nodes = facts().nodes;
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const NumaFacts::Node& node) {
    return count > 0 && std::find(node.cpus.begin(), node.cpus.end(), *cpus) != node.cpus.end();
  });
  if (found == nodes.end()) return EINVAL;
  place_this_thread(static_cast<int>(found - nodes.begin()));
  return 0;
}

int prefer_node(int node) {
  const auto& nodes = facts().nodes;
  if (facts().refuses_preference) return EPERM;
  if (node < 0 || static_cast<std::size_t>(node) >= nodes.size()) return EINVAL;
  const auto with_room =
      std::find_if(nodes.begin(), nodes.end(), [](const auto& one) { return !one.is_full; });
  const bool moves = nodes[static_cast<std::size_t>(node)].is_full && with_room != nodes.end();
  place_this_thread(moves ? static_cast<int>(with_room - nodes.begin()) : node);
  return 0;
}

int nodes_of(void* const* pages, std::size_t count, int* nodes) {
  for (std::size_t i = 0; i < count; ++i) nodes[i] = Driver::instance().host_memory().node_of(pages[i]);
  return 0;
}

constexpr HostCalls kEmulatedCalls{run_on, prefer_node, nodes_of};

}  // namespace
}  // namespace pinbench::emulated

// A program may ask before cuInit, which reads the variable.
extern "C" __attribute__((visibility("default"))) const pinbench::HostCalls* pinbenchEmulatedHostCalls() {
  using pinbench::emulated::Driver;
  const char* const text = std::getenv("PINBENCH_EMULATED_NUMA");
  const bool has_nodes = Driver::instance().is_initialized() ? Driver::instance().settings().numa.has_value()
                                                             : text != nullptr && *text != '\0';
  return has_nodes ? &pinbench::emulated::kEmulatedCalls : nullptr;
}
