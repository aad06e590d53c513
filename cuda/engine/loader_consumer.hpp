#pragma once

#include <cstdint>
#include <optional>

#include "engine/abort_flag.hpp"
#include "engine/loader_device.hpp"
#include "engine/loader_flow.hpp"
#include "engine/loader_log.hpp"
#include "engine/loader_sample.hpp"

namespace pinbench {

// The training loop: takes batches in order, copies each to the device, and has the step run on it.
class LoaderConsumer {
 public:
  struct Parts {
    const LoaderOptions& options;
    const AbortFlag& abort;
    LoaderFlow& flow;
    ArrivalLog& log;
    LoaderDevice& device;
    PinnedPool& pool;
    SampleRecipe& recipe;
  };
  // `start_ns`: the steady clock at which arrivals count from.
  LoaderConsumer(const Parts& parts, std::int64_t start_ns)
      : parts_(parts), start_ns_(start_ns), maker_(parts.recipe, parts.flow.stopped()) {}

  // Until the flow stops.
  void run();

 private:
  std::optional<LoadedBatch> take(std::uint64_t index);
  std::optional<LoadedBatch> take_from_workers(std::uint64_t index);
  std::optional<LoadedBatch> make(std::uint64_t index);
  void copy(LoadedBatch batch);
  void copy_overlapping(LoadedBatch batch);
  void finish_copy_under_way();

  const Parts parts_;
  const std::int64_t start_ns_;
  SampleMaker maker_;
  std::optional<LoadedBatch> under_way_;  // its copy is, while the next batch is taken
  std::int64_t wait_ns_ = 0;
  std::int64_t copy_ns_ = 0;
};

}  // namespace pinbench
