// Copies the pieces of files to a device, by one of the methods with which programs load weights.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "copies/lane.hpp"

namespace pinbench {

// kMapped: from a mapping, by the driver's staging. kRegistered: from a mapping that is registered read-only.
// The others go through pinned slots, which threads fill: from a mapping, or by reads, buffered or with
// O_DIRECT. kStorage: the reads of kDirectSlots alone.
enum class WeightsWay { kMapped, kRegistered, kMappedSlots, kReadSlots, kDirectSlots, kStorage };

// A tensor, or another stretch of a file.
struct WeightsPiece {
  std::size_t file = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

struct WeightsRequest {
  std::vector<std::string> files;
  std::vector<WeightsPiece> pieces;
  WeightsWay way = WeightsWay::kMapped;
  std::size_t threads = 1;
};

struct WeightsPass {
  double map_ns = 0;
  double copy_ns = 0;
  std::size_t storage_bytes = 0;
  std::size_t checked_bytes = 0;
  std::size_t mismatched_bytes = 0;
};

// Throws what NativeSession.loadWeights() rejects with.
WeightsPass load_weights(DeviceContext& context, Lanes& lanes, const WeightsRequest& request);

}  // namespace pinbench
