#include "pool/pool.hpp"

#include <algorithm>

#include "context/clock.hpp"
#include "driver/error.hpp"
#include "memory/geometry.hpp"
#include "memory/page_nodes.hpp"
#include "memory/page_sizes.hpp"

namespace pinbench {
namespace {

// Bytes that a thread touches before it checks for an abort (some milliseconds), and the unit in which
// threads share one piece.
constexpr std::size_t kTouchedAtOnce = 16 * PageSizes::kTwoMiB;

// Enough for 1 TiB in pieces of 16 MiB.
constexpr std::size_t kMostPieces = 65'536;

void validate(const PoolOptions& options) {
  if (options.bytes == 0 || options.bytes > kMostReservedBytes)
    throw Error("INVALID_REQUEST", "a pool has from 1 byte to 64 TiB");
  if (options.pieces == 0 || options.pieces > kMostPieces ||
      options.pieces > (options.bytes - 1) / page_sizes().page + 1)
    throw Error("INVALID_REQUEST", "a pool has from 1 to 65536 pieces, of a page or more each");
  const std::size_t most_threads =
      options.pieces == 1 ? kMostThreads : std::min(kMostThreads, options.pieces);
  if (options.threads == 0 || options.threads > most_threads)
    throw Error("INVALID_REQUEST", "a pool of several pieces is obtained by at most a thread for each");
}

// Whole huge pages if there is one for each piece, else whole pages; the last piece has the rest.
std::vector<std::size_t> sizes_of_pieces(const PoolOptions& options) {
  const std::size_t unit = page_sizes().unit_of_pieces(options.bytes, options.pieces);
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

// Durations of one thread's work.
struct Pool::Times {
  std::int64_t touch_ns = 0;
  std::int64_t register_ns = 0;

  std::int64_t sum_ns() const { return touch_ns + register_ns; }
};

Pool::Pool(DeviceContext& context, const PoolOptions& options) : context_(context), options_(options) {
  validate(options_);
  context_.abort().throw_if_set();
  pieces_.resize(options_.pieces);
  // Starts the threads now, so that their start does not count as time of the pool.
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
  report_.obtain_ns = static_cast<double>(now_ns() - begin_ns);
  const auto& slowest = *std::ranges::max_element(times, {}, &Times::sum_ns);
  report_.touch_ns = static_cast<double>(slowest.touch_ns);
  report_.register_ns = static_cast<double>(slowest.register_ns);
  HostSpans blocks;
  for (const auto& piece : pieces_) blocks.push_back(piece.bytes());
  if (options_.way == PoolWay::kRegisterHugetlb) {
    report_.huge_page_bytes = options_.bytes;
  } else if (options_.way != PoolWay::kHostAlloc) {
    report_.huge_page_bytes = pinbench::huge_page_bytes(blocks);
  }
  report_.pages_of_node = pages_of_nodes(context_.cuda().host_calls(), blocks);
}

Pool::~Pool() {
  release();
}

void Pool::obtain(std::vector<Times>& times) {
  if (options_.pieces == 1 && options_.way != PoolWay::kHostAlloc) {
    obtain_in_one(times);
  } else {
    obtain_in_pieces(times);
  }
}

// All threads touch the piece, then one registers it.
void Pool::obtain_in_one(std::vector<Times>& times) {
  auto& piece = pieces_.front();
  context_.team().run(1, [&](std::size_t) { piece.allocate(context_.cuda(), options_.way, options_.bytes); });
  std::atomic<std::size_t> next{0};
  const auto memory = piece.bytes();
  context_.team().run(options_.threads, [&](std::size_t thread) {
    const auto begin_ns = now_ns();
    while (!context_.abort().is_set()) {
      const std::size_t offset = next.fetch_add(kTouchedAtOnce);
      if (offset >= memory.size()) break;
      piece.touch(memory.subspan(offset, std::min(kTouchedAtOnce, memory.size() - offset)));
    }
    times[thread].touch_ns = now_ns() - begin_ns;
  });
  context_.abort().throw_if_set();
  // Registering begins when the slowest thread has touched its last page.
  times[0].touch_ns = std::ranges::max_element(times, {}, &Times::touch_ns)->touch_ns;
  context_.team().run(1, [&](std::size_t) {
    const auto begin_ns = now_ns();
    piece.register_pages(context_.cuda());
    times[0].register_ns = now_ns() - begin_ns;
  });
}

// Each thread takes one piece after the other until all are allocated, one fails, or an abort.
void Pool::obtain_in_pieces(std::vector<Times>& times) {
  const auto sizes = sizes_of_pieces(options_);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> has_failed{false};
  const auto is_over = [&] { return has_failed || context_.abort().is_set(); };
  context_.team().run(options_.threads, [&](std::size_t thread) {
    try {
      while (!is_over()) {
        const std::size_t i = next.fetch_add(1);
        if (i >= sizes.size()) return;
        auto& piece = pieces_[i];
        const auto begin_ns = now_ns();
        piece.allocate(context_.cuda(), options_.way, sizes[i]);
        if (options_.way == PoolWay::kHostAlloc) {
          times[thread].register_ns += now_ns() - begin_ns;
          continue;
        }
        const auto memory = piece.bytes();
        for (std::size_t offset = 0; offset < memory.size() && !is_over(); offset += kTouchedAtOnce)
          piece.touch(memory.subspan(offset, std::min(kTouchedAtOnce, memory.size() - offset)));
        const auto touched_ns = now_ns();
        times[thread].touch_ns += touched_ns - begin_ns;
        if (is_over()) return;
        piece.register_pages(context_.cuda());
        times[thread].register_ns += now_ns() - touched_ns;
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
  if (size_bytes < page_sizes().page || copies == 0 || copies > kMostCopies)
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
      // Spreads copies over the whole pool if it has more slots than copies.
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
  has_ended_ = true;
  return static_cast<double>(now_ns() - begin_ns);
}

// If threads cannot start, the device's thread frees all pieces.
void Pool::give_back() noexcept {
  std::atomic<std::size_t> next{0};
  const auto give_some_back = [&] {
    for (std::size_t i = next.fetch_add(1); i < pieces_.size(); i = next.fetch_add(1)) pieces_[i] = {};
  };
  try {
    context_.team().run(options_.pieces == 1 ? 1 : options_.threads, [&](std::size_t) { give_some_back(); });
  } catch (...) {
    context_.free_on_device_thread(give_some_back);
  }
  pieces_.clear();
}

}  // namespace pinbench
