#include "context/device_context.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "context/clock.hpp"
#include "context/system_file.hpp"
#include "driver/error.hpp"

namespace pinbench {
namespace {

void require_placed(int error, const std::string& what) {
  if (error != 0) throw Error("PLACEMENT_REFUSED", what + ": " + std::strerror(error));
}

bool this_process_has_one_memory_node() {
  return allows_one_memory_node(read_system_file("/proc/self/status").value_or(""));
}

}  // namespace

bool allows_one_memory_node(std::string_view status) {
  constexpr std::string_view kNodes = "Mems_allowed_list:";
  while (!status.empty()) {
    const auto line = take_line(status);
    if (!line.starts_with(kNodes)) continue;
    // A single number is one node; several nodes are a list such as "0-1,4".
    const auto nodes = line.find_first_not_of(" \t", kNodes.size());
    return nodes != line.npos && line.find_first_not_of("0123456789", nodes) == line.npos;
  }
  return false;
}

DeviceContext::DeviceContext(std::shared_ptr<const CudaDriver> driver, int ordinal, Placement placement)
    : driver_(std::move(driver)),
      placement_(std::move(placement)),
      has_one_memory_node_(placement_.numa_node.has_value() || this_process_has_one_memory_node()) {
  driver_->check(driver_->deviceGet(&device_, ordinal));
  int maps_host_memory = 0;
  driver_->check(driver_->deviceGetAttribute(&maps_host_memory, cu::kAttributeCanMapHostMemory, device_));
  maps_host_memory_ = maps_host_memory != 0;
  // Threads spin while they wait: waking up adds tens of microseconds to every sample. If another library has
  // made the context active before, it keeps its flags.
  const auto flagged = driver_->primaryContextSetFlags(device_, cu::kContextScheduleSpin);
  if (flagged.result != cu::kErrorPrimaryContextActive) driver_->check(flagged);
  const auto begin_ns = now_ns();
  retained_ = std::make_shared<const PrimaryContext>(retain_primary_context(*driver_, device_, context_));
  creation_ns_ = static_cast<double>(now_ns() - begin_ns);
}

void DeviceContext::enter() const {
  const HostCalls& host = driver_->host_calls();
  const auto& [cpus, threads, node] = placement_;
  if (!cpus.empty())
    require_placed(host.run_on(cpus.data(), cpus.size()), "the CPUs asked for cannot be used");
  if (node)
    require_placed(host.prefer_node(*node),
                   "memory of NUMA node " + std::to_string(*node) + " cannot be preferred");
  driver_->check(driver_->contextSetCurrent(context_));
}

void DeviceContext::on_device_thread(const std::function<void()>& job) {
  device_thread_.run(1, [&job](std::size_t) { job(); });
}

void DeviceContext::free_on_device_thread(const std::function<void()>& free,
                                          const std::function<void()>& meanwhile) noexcept {
  try {
    device_thread_.run(
        1, [&free](std::size_t) { free(); }, meanwhile);
  } catch (...) {
    // Nobody is left to report it to.
  }
}

void DeviceContext::for_each_piece(std::size_t count, const std::function<void(std::size_t)>& job) {
  std::atomic<std::size_t> next{0};
  team_.run(std::min(placement_.threads, count), [&](std::size_t) {
    for (std::size_t piece = next.fetch_add(1); piece < count && !abort_.is_set();
         piece = next.fetch_add(1)) {
      job(piece);
    }
  });
}

}  // namespace pinbench
