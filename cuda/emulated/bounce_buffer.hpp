#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "emulated/mapping.hpp"

namespace pinbench::emulated {

inline constexpr std::size_t kBounceSlotBytes = std::size_t{1} << 20;
inline constexpr std::size_t kBounceSlots = 2;

// The staging memory that a stream's pageable copies go through, allocated by the first that needs it.
class BounceBuffer {
 public:
  struct Slot {
    std::byte* data = nullptr;
    std::uint64_t last_use = 0;  // ticket of the last operation that reads or writes the slot
  };

  // Held by a copy from its first piece to its last.
  std::mutex in_use;

  // The slot that was used longest ago.
  Slot& next_slot() {
    if (!mapping_) {
      mapping_.emplace(kBounceSlots * kBounceSlotBytes);
      for (std::size_t i = 0; i < kBounceSlots; ++i) {
        slots_[i].data = static_cast<std::byte*>(mapping_->address()) + i * kBounceSlotBytes;
      }
    }
    next_ = (next_ + 1) % kBounceSlots;
    return slots_[next_];
  }

 private:
  std::optional<Mapping> mapping_;
  std::array<Slot, kBounceSlots> slots_;
  std::size_t next_ = 0;
};

}  // namespace pinbench::emulated
