#include "pool/pool.hpp"

#include <algorithm>
#include <atomic>
#include <string>

#include "driver/error.hpp"
#include "engine/clock.hpp"
#include "engine/geometry.hpp"

namespace pinbench {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// Threads look for an abort, and share out one piece, so many bytes at a time: some milliseconds of touching.
constexpr std::size_t kTouchedAtOnce = 16 * kHugePageBytes;

constexpr std::size_t kMostPieces = 4096;
constexpr std::size_t kMostThreads = 4096;

void validate(const PoolOptions& options) {
  if (options.bytes == 0 || options.bytes > kMostReservedBytes)
    throw Error("INVALID_REQUEST", "a pool has from 1 byte to 64 TiB");
  if (options.pieces == 0 || options.pieces > kMostPieces ||
      options.pieces > (options.bytes - 1) / kPageBytes + 1)
    throw Error("INVALID_REQUEST", "a pool has from 1 to 4096 pieces, of a page or more each");
  const bool has_many_threads =
      options.threads > (options.way == PoolWay::kHostAlloc ? options.pieces : kMostThreads);
  if (options.threads == 0 || has_many_threads)
    throw Error("INVALID_REQUEST",
                "a pool is obtained by at most 4096 threads, cuMemHostAlloc's by one for each piece");
}

// Whole huge pages where there are as many as pieces, else whole pages; the last piece has what is left.
std::vector<std::size_t> sizes_of_pieces(const PoolOptions& options) {
  const std::size_t unit = options.bytes / kHugePageBytes >= options.pieces ? kHugePageBytes : kPageBytes;
  const std::size_t units = (options.bytes - 1) / unit + 1;
  std::vector<std::size_t> sizes;
  std::size_t left = options.bytes;
  for (std::size_t i = 0; i < options.pieces; ++i) {
    const std::size_t share = units / options.pieces + (i < units % options.pieces ? 1 : 0);
    sizes.push_back(std::min(left, share * unit));
    left -= sizes.back();
  }
  return sizes;
}

}  // namespace

// What one thread has taken for the parts of its work.
struct Pool::Times {
  std::int64_t touch_ns = 0;
  std::int64_t register_ns = 0;
};

Pool::Pool(DeviceContext& context, const PoolOptions& options) : context_(context), options_(options) {
  validate(options_);
  context_.abort().throw_if_set();
  pieces_.resize(options_.pieces);
  // Threads that have to be started first would count as time of the pool.
  context_.team().run(options_.threads, [](std::size_t) {});
  std::vector<Times> times(options_.threads);
  const auto begin_ns = now_ns();
  try {
    obtain(times);
    context_.abort().throw_if_set();
  } catch (...) {
    give_back();
    throw;
  }
  obtain_ns_ = static_cast<double>(now_ns() - begin_ns);
  std::int64_t touch_ns = 0;
  std::int64_t register_ns = 0;
  for (const auto& of_thread : times) {
    touch_ns = std::max(touch_ns, of_thread.touch_ns);
    register_ns += of_thread.register_ns;
  }
  touch_ns_ = static_cast<double>(touch_ns);
  register_ns_ = static_cast<double>(register_ns);
  if (options_.way == PoolWay::kRegisterHugetlb) {
    huge_page_bytes_ = options_.bytes;
  } else if (options_.way != PoolWay::kHostAlloc) {
    std::vector<std::span<std::byte>> blocks;
    for (const auto& piece : pieces_) blocks.push_back(piece.bytes());
    huge_page_bytes_ = pinbench::huge_page_bytes(blocks);
  }
}

Pool::~Pool() {
  release();
}

void Pool::obtain(std::vector<Times>& times) {
  if (options_.way == PoolWay::kHostAlloc) {
    obtain_from_driver();
  } else {
    obtain_by_registering(times);
  }
}

// Each thread takes one piece after the other, until all are there, one has failed, or there is an abort.
void Pool::obtain_from_driver() {
  const auto sizes = sizes_of_pieces(options_);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> has_failed{false};
  context_.team().run(options_.threads, [&](std::size_t) {
    try {
      for (std::size_t i = next.fetch_add(1); i < sizes.size() && !has_failed && !context_.abort().is_set();
           i = next.fetch_add(1)) {
        pieces_[i].allocate(context_.cuda(), options_.way, sizes[i]);
      }
    } catch (...) {
      has_failed = true;
      throw;
    }
  });
}

// All threads touch the first piece, a part after the other, then the next one, and so on. Whoever touched
// the last part of a piece registers it meanwhile, one piece at a time: in the driver, threads would only
// wait for each other, and take longer for that.
void Pool::obtain_by_registering(std::vector<Times>& times) {
  struct Part {
    std::size_t piece;
    std::span<std::byte> memory;
  };
  const auto sizes = sizes_of_pieces(options_);
  std::vector<Part> parts;
  std::vector<std::atomic<std::size_t>> parts_left(sizes.size());
  context_.team().run(1, [&](std::size_t) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      pieces_[i].allocate(context_.cuda(), options_.way, sizes[i]);
      const auto memory = pieces_[i].bytes();
      for (std::size_t offset = 0; offset < memory.size(); offset += kTouchedAtOnce) {
        parts.push_back({i, memory.subspan(offset, std::min(kTouchedAtOnce, memory.size() - offset))});
        ++parts_left[i];
      }
    }
  });
  std::atomic<std::size_t> next{0};
  std::atomic<bool> has_failed{false};
  const auto is_over = [&] { return has_failed || context_.abort().is_set(); };
  std::mutex registering;
  context_.team().run(options_.threads, [&](std::size_t thread) {
    try {
      for (std::size_t i = next.fetch_add(1); i < parts.size() && !is_over(); i = next.fetch_add(1)) {
        const auto [piece, memory] = parts[i];
        const auto touch_begin_ns = now_ns();
        pieces_[piece].touch(memory);
        times[thread].touch_ns += now_ns() - touch_begin_ns;
        if (parts_left[piece].fetch_sub(1) > 1) continue;
        const std::lock_guard turn(registering);
        if (is_over()) return;
        const auto register_begin_ns = now_ns();
        pieces_[piece].register_pages(context_.cuda());
        times[thread].register_ns += now_ns() - register_begin_ns;
      }
    } catch (...) {
      has_failed = true;
      throw;
    }
  });
}

std::vector<std::byte*> Pool::places(std::size_t size_bytes) const {
  std::vector<std::byte*> places;
  for (const auto& piece : pieces_) {
    const auto memory = piece.bytes();
    for (std::size_t offset = 0; offset + size_bytes <= memory.size(); offset += size_bytes)
      places.push_back(memory.data() + offset);
  }
  return places;
}

std::vector<double> Pool::copy(bool to_device, std::size_t size_bytes, std::size_t copies) {
  constexpr std::size_t kMostCopies = 1'000'000;
  const std::lock_guard lock(mutex_);
  context_.abort().throw_if_set();
  if (pieces_.empty()) throw Error("POOL_RELEASED", "the pool has been given back");
  if (size_bytes < kPageBytes || copies == 0 || copies > kMostCopies)
    throw Error("INVALID_REQUEST", "a pool is copied at most a million times, a page or more each time");
  const auto places = this->places(size_bytes);
  if (places.empty()) throw Error("INVALID_REQUEST", "no piece of the pool has room for such a copy");
  std::vector<double> durations_ns;
  context_.on_device_thread([&] {
    const auto& cuda = context_.cuda();
    const auto stream = create_stream(cuda);
    const auto device = allocate_device_memory(cuda, size_bytes);
    const auto copy_one = [&](std::byte* place) {
      const auto begin_ns = now_ns();
      const auto copied = to_device ? cuda.memcpyHtoDAsync(device.get(), place, size_bytes, stream.get())
                                    : cuda.memcpyDtoHAsync(place, device.get(), size_bytes, stream.get());
      const auto finished = cuda.streamSynchronize(stream.get());
      const auto duration_ns = now_ns() - begin_ns;
      cuda.check(copied);
      cuda.check(finished);
      return static_cast<double>(duration_ns);
    };
    copy_one(places.back());  // wakes the link up
    for (std::size_t i = 0; i < copies && !context_.abort().is_set(); ++i) {
      // All over the pool, where there are more places than copies.
      const std::size_t place = places.size() > copies ? i * places.size() / copies : i % places.size();
      durations_ns.push_back(copy_one(places[place]));
    }
  });
  context_.abort().throw_if_set();
  return durations_ns;
}

double Pool::release() noexcept {
  const std::lock_guard lock(mutex_);
  if (pieces_.empty()) return 0;
  const auto begin_ns = now_ns();
  give_back();
  is_released_ = true;
  return static_cast<double>(now_ns() - begin_ns);
}

// Where there are no threads for it, one gives back all.
void Pool::give_back() noexcept {
  std::atomic<std::size_t> next{0};
  const auto give_some_back = [&] {
    for (std::size_t i = next.fetch_add(1); i < pieces_.size(); i = next.fetch_add(1)) pieces_[i].give_back();
  };
  try {
    context_.team().run(options_.pieces == 1 ? 1 : options_.threads, [&](std::size_t) { give_some_back(); });
  } catch (...) {
    context_.free_on_device_thread(give_some_back);
  }
  pieces_.clear();
}

}  // namespace pinbench
