#include <algorithm>
#include <cstring>

#include "beside/load_workers.hpp"
#include "memory/host_memory.hpp"

namespace pinbench {
namespace {

// Bytes copied between two checks for a stop: under 1 ms on most machines.
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

class HostLoad : public LoadWorker {
 public:
  HostLoad(const AbortFlag& abort, std::size_t bytes)
      : half_bytes_(bytes / 2),
        piece_bytes_(std::min(kPieceBytes, half_bytes_)),
        memory_(map_pages(2 * half_bytes_)) {
    touch_pages(abort, {memory_.get(), 2 * half_bytes_});
    abort.throw_if_set();
  }

  void complete_piece() override {
    if (begin_bytes_ + piece_bytes_ > half_bytes_) begin_bytes_ = 0;
    std::memcpy(memory_.get() + half_bytes_ + begin_bytes_, memory_.get() + begin_bytes_, piece_bytes_);
    begin_bytes_ += piece_bytes_;
  }

  double units_each() const override { return 2 * static_cast<double>(piece_bytes_); }

 private:
  const std::size_t half_bytes_;
  const std::size_t piece_bytes_;
  const MappedPages memory_;
  std::size_t begin_bytes_ = 0;
};

}  // namespace

std::unique_ptr<LoadWorker> make_host_load(const AbortFlag& abort, std::size_t bytes) {
  return std::make_unique<HostLoad>(abort, bytes);
}

}  // namespace pinbench
