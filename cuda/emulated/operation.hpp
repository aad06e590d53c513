#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>

#include "driver/cuda_abi.hpp"
#include "emulated/event.hpp"

namespace pinbench::emulated {

// What moves or changes bytes. Each has a thread of its own and takes one operation at a time.
enum class Engine : std::size_t { kHostToDevice, kDeviceToHost, kCompute };
inline constexpr std::size_t kEngineCount = 3;

// A copy, a memset or a kernel. Anything but success is sticky, for whoever enqueued it has long gone on.
struct EngineWork {
  Engine engine;
  std::function<cu::Result()> run;
};

struct EventRecord {
  std::shared_ptr<EventRecording> recording;
};

// Holds the stream until (int32_t)(*address - value) >= 0, the cyclic comparison of CU_STREAM_WAIT_VALUE_GEQ.
struct ValueWait {
  std::uint32_t* address;
  std::uint32_t value;
};

using Operation = std::variant<EngineWork, EventRecord, ValueWait>;

}  // namespace pinbench::emulated
