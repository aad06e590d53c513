#include "engine/lane.hpp"

namespace pinbench {

namespace {

// All of a lane but its ring; it may be half made.
void destroy(const CudaDriver& cuda, const Lane& lane) {
  for (const auto event : {lane.origin, lane.start, lane.end, lane.refill[0], lane.refill[1]}) {
    if (event != nullptr) cuda.eventDestroy(event);
  }
  if (lane.stream != nullptr) cuda.streamDestroy(lane.stream);
}

}  // namespace

Lanes::~Lanes() {
  const auto& cuda = context_.cuda();
  destroy_rings();
  for (const auto stream : {upload_, download_}) {
    if (stream != nullptr) cuda.streamDestroy(stream);
  }
  for (const auto& lane : lanes_) destroy(cuda, *lane);
}

void Lanes::ensure(std::size_t workers) {
  if (lanes_.size() >= workers) return;
  // A thread that cannot enter the context fails here, and not where others already wait for it.
  context_.team().run(workers, [](std::size_t) {});
  const auto& cuda = context_.cuda();
  context_.on_device_thread([&] {
    while (lanes_.size() < workers) {
      auto lane = std::make_unique<Lane>();
      try {
        cuda.check(cuda.streamCreate(&lane->stream, cu::kStreamNonBlocking));
        for (auto* event : {&lane->origin, &lane->start, &lane->end})
          cuda.check(cuda.eventCreate(event, cu::kEventDefault));
        for (auto& event : lane->refill) cuda.check(cuda.eventCreate(&event, cu::kEventDisableTiming));
      } catch (...) {
        destroy(cuda, *lane);
        throw;
      }
      lanes_.push_back(std::move(lane));
    }
  });
}

std::size_t Lanes::reserve_rings(std::size_t workers, const StagingShape& shape) {
  ensure(workers);
  const auto& cuda = context_.cuda();
  context_.on_device_thread([this] {
    destroy_rings();
    ring_memory_.reset();
  });
  const std::size_t bytes = workers * shape.slots * shape.chunk_bytes;
  ring_memory_ = HostBlock::allocate(context_, HostMemoryKind::kRegistered, bytes);
  context_.on_device_thread([&] {
    for (auto* stream : {&upload_, &download_}) {
      if (*stream == nullptr) cuda.check(cuda.streamCreate(stream, cu::kStreamNonBlocking));
    }
    auto* next = ring_memory_->bytes().data();
    for (std::size_t worker = 0; worker < workers; ++worker) {
      auto& ring = lanes_[worker]->ring;
      ring.chunk_bytes = shape.chunk_bytes;
      ring.upload = upload_;
      ring.download = download_;
      for (std::size_t slot = 0; slot < shape.slots; ++slot, next += shape.chunk_bytes) {
        ring.slots.push_back(next);
        ring.done.push_back(nullptr);
        cuda.check(cuda.eventCreate(&ring.done.back(), cu::kEventDisableTiming));
      }
    }
  });
  rings_ = workers;
  return bytes;
}

void Lanes::destroy_rings() noexcept {
  for (const auto& lane : lanes_) {
    for (const auto event : lane->ring.done) {
      if (event != nullptr) context_.cuda().eventDestroy(event);
    }
    lane->ring = {};
  }
  rings_ = 0;
}

}  // namespace pinbench
