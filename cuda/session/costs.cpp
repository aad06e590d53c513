#include <thread>

#include "context/clock.hpp"
#include "driver/error.hpp"
#include "session/session.hpp"

namespace pinbench {
namespace {

// Does not use malloc(), which may return memory that was touched before.
PinningCost measure_first_touch(DeviceContext& context, std::size_t size_bytes) {
  PinningCost cost;
  context.on_device_thread([&] {
    const auto begin_ns = now_ns();
    MappedPages pages = map_pages(size_bytes);
    const std::span memory(pages.get(), size_bytes);
    touch_pages(context.abort(), memory);
    cost.allocate_ns = static_cast<double>(now_ns() - begin_ns);
    cost.huge_page_bytes = huge_page_bytes({memory});
    const auto free_ns = now_ns();
    pages.reset();
    cost.free_ns = static_cast<double>(now_ns() - free_ns);
  });
  context.abort().throw_if_set();
  return cost;
}

}  // namespace

PinningCost measure_pinning(Session& session, HostMemoryKind kind, std::size_t size_bytes) {
  if (size_bytes == 0 || size_bytes > kMostReservedBytes)
    throw Error("INVALID_REQUEST", "the memory whose cost is timed has from 1 byte to 64 TiB");
  DeviceContext& context = session.context();
  const std::lock_guard lock(session.mutex());
  context.abort().throw_if_set();
  if (kind == HostMemoryKind::kPageable) return measure_first_touch(context, size_bytes);
  PinningCost cost;
  const auto begin_ns = now_ns();
  std::optional<HostBlock> block = HostBlock::allocate(context, kind, size_bytes);
  cost.allocate_ns = static_cast<double>(now_ns() - begin_ns);
  if (kind == HostMemoryKind::kRegistered) cost.huge_page_bytes = huge_page_bytes({block->bytes()});
  const auto free_ns = now_ns();
  context.on_device_thread([&block] { block.reset(); });
  cost.free_ns = static_cast<double>(now_ns() - free_ns);
  return cost;
}

double measure_first_copy_ns(Session& session, std::chrono::milliseconds rest) {
  DeviceContext& context = session.context();
  const std::lock_guard lock(session.mutex());
  constexpr std::size_t kBytes = 4096;
  const auto& cuda = context.cuda();
  session.lanes().ensure(1);
  const auto stream = session.lanes()[0].stream.get();
  auto host = HostBlock::allocate(context, HostMemoryKind::kPinned, kBytes);
  double duration_ns = 0;
  context.on_device_thread([&] {
    const HostBlock source(std::move(host));  // so that it is freed on this thread
    const auto destination = allocate_device_memory(cuda, kBytes);
    // Rests first, because allocating memory wakes CPU, link and device.
    if (rest.count() > 0) std::this_thread::sleep_for(rest);
    const auto begin_ns = now_ns();
    const auto copied = cuda.memcpyHtoDAsync(destination.get(), source.bytes().data(), kBytes, stream);
    const auto finished = cuda.streamSynchronize(stream);
    duration_ns = static_cast<double>(now_ns() - begin_ns);
    cuda.check(copied);
    cuda.check(finished);
  });
  return duration_ns;
}

}  // namespace pinbench
