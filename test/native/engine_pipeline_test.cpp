// Batches that are copied in chunks, while kernels work on chunks that have arrived.
#include <algorithm>
#include <mutex>

#include "engine_session.hpp"

namespace pinbench::test::engine_pipeline {
namespace {

constexpr std::size_t kSize = 6000;  // twelve blocks of 512 bytes, the last one short
constexpr std::uint64_t kComputeNs = 120'000;
constexpr CopyMemory kMemories[] = {CopyMemory::kPinned, CopyMemory::kPageable, CopyMemory::kRegistered};

MeasureRequest pipeline_of(CopyMemory memory, std::size_t chunks, std::uint64_t compute_ns = kComputeNs) {
  auto request = request_for(Direction::kHostToDevice, memory, kSize);
  request.pipeline = Pipeline{chunks, compute_ns};
  return request;
}

// A driver call of a pipeline: 'c' copies to the device, 'r' records an event, 'w' makes a stream wait for
// one, 'k' launches a kernel, 's' waits for a stream.
struct Call {
  char what;
  cu::Stream stream;
  std::size_t bytes;          // of a copy
  std::uint64_t duration_ns;  // of a kernel that computes
};

// An emulated driver that records its calls.
class NotedDriver {
 public:
  NotedDriver() {
    watch_calls<&CudaDriver::memcpyHtoDAsync>(
        *driver_, [this](cu::DevicePtr, const void*, std::size_t bytes, cu::Stream stream) {
          note({'c', stream, bytes, 0});
        });
    watch_calls<&CudaDriver::eventRecord>(*driver_, [this](cu::Event, cu::Stream stream) {
      note({'r', stream, 0, 0});
    });
    watch_calls<&CudaDriver::streamWaitEvent>(*driver_, [this](cu::Stream stream, cu::Event, unsigned) {
      note({'w', stream, 0, 0});
    });
    watch_calls<&CudaDriver::streamSynchronize>(*driver_, [this](cu::Stream stream) {
      note({'s', stream, 0, 0});
    });
    watch_launches(*driver_, [this](const Launch& launch) {
      note({'k', launch.stream, 0, launch.parameter(0)});
    });
  }

  const std::shared_ptr<CudaDriver>& driver() const { return driver_; }
  // The calls since the last take().
  std::vector<Call> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(calls_, {});
  }

 private:
  void note(const Call& call) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(call);
  }

  const std::shared_ptr<CudaDriver> driver_ = emulated_driver();
  std::mutex mutex_;
  std::vector<Call> calls_;
};

}  // namespace

TEST_CASE("each kernel of a pipeline waits for its piece, and each batch for the last kernel before it") {
  constexpr std::size_t kChunks = 5;  // of twelve blocks: pieces of two and three
  constexpr std::size_t kBatches = 3;
  NotedDriver noted;
  TestSession session(noted.driver());
  session.reserve(CopyMemory::kPinned, geometry_of(1, 1, 64 * kKiB));
  auto request = pipeline_of(CopyMemory::kPinned, kChunks);
  request.verify = Verify::kNone;
  request.samples = 1;
  REQUIRE(request.copies_per_sample == kBatches);
  noted.take();
  session.measure(request);
  const auto calls = noted.take();

  std::string order;
  for (const auto& call : calls) order += call.what;
  std::string batch = "s";
  for (std::size_t chunk = 0; chunk < kChunks; ++chunk) batch += "crwk";
  // The warm-up's batch, then those of the sample; the end of each waits too.
  std::size_t at = 0;
  for (std::size_t i = 0; i < 1 + kBatches; ++i) {
    at = order.find(batch, at);
    REQUIRE(at != std::string::npos);
    std::size_t bytes = 0;
    std::uint64_t duration_ns = 0;
    const auto computing = calls[at].stream;
    for (std::size_t call = at + 1; call < at + batch.size(); call += 4) {
      CHECK(calls[call].stream == calls[call + 1].stream);
      CHECK(calls[call].stream != computing);
      CHECK(calls[call + 2].stream == computing);
      CHECK(calls[call + 3].stream == computing);
      const auto share = static_cast<double>(calls[call].bytes) / static_cast<double>(kSize);
      CHECK(calls[call + 3].duration_ns == static_cast<std::uint64_t>(share * kComputeNs));
      bytes += calls[call].bytes;
      duration_ns += calls[call + 3].duration_ns;
    }
    CHECK(bytes == kSize);
    CHECK(duration_ns > kComputeNs - kChunks);
    at += batch.size();
    CHECK(calls[at].what == 's');
    CHECK(calls[at].stream == computing);
  }
  CHECK(std::count(order.begin(), order.end(), 'c') == (1 + kBatches) * kChunks);
}

TEST_CASE("a pipeline copies every chunk of every batch, for each kind of memory and one or two workers") {
  TestSession session;
  for (const auto memory : kMemories) {
    session.reserve(memory, geometry_of(2, 1, 64 * kKiB));
    for (const std::size_t chunks : {1, 2, 5, 12}) {
      for (const std::size_t workers : {1, 2}) {
        CAPTURE(static_cast<int>(memory));
        CAPTURE(chunks);
        auto request = pipeline_of(memory, chunks);
        request.workers = workers;
        check_clean(session.measure(request), workers * 6 * kSize);
      }
    }
  }
}

TEST_CASE("a batch takes at least its computing time, and batches of a sample do not overlap") {
  TestSession session;
  for (const auto memory : kMemories) {
    session.reserve(memory, geometry_of(1, 1, 64 * kKiB));
    for (const std::size_t chunks : {1, 4}) {
      CAPTURE(static_cast<int>(memory));
      CAPTURE(chunks);
      const auto request = pipeline_of(memory, chunks, 2'000'000);
      const auto columns = session.measure(request).columns;
      REQUIRE(columns.size() == 1);
      for (const double duration_ns : columns[0].duration_ns)
        CHECK(duration_ns >= 0.999 * 2'000'000 * static_cast<double>(request.copies_per_sample));
    }
  }
}

TEST_CASE("a dropped or corrupted chunk of a pipeline is found at its position") {
  // In four chunks of three blocks. Copies 1 to 4 are the warm-up of the last buffer.
  constexpr std::size_t kChunks = 4;
  constexpr std::size_t kChunkBytes = 3 * kBufferAlignment;
  constexpr std::size_t kStride = 6144;
  for (const auto memory : kMemories) {
    CAPTURE(static_cast<int>(memory));
    // The second chunk of the third buffer.
    const auto nth = std::to_string(kChunks + 2 * kChunks + 2);
    for (const bool dropped : {true, false}) {
      std::string fault = dropped ? "h2d:drop:nth=" : "h2d:flip:nth=";
      fault.append(nth);
      TestSession session(with_faults(fault));
      session.reserve(memory, geometry_of(1, 1, 64 * kKiB));
      const auto result = session.measure(pipeline_of(memory, kChunks));
      REQUIRE(result.mismatches.size() == 1);
      const auto& mismatch = result.mismatches[0].mismatch;
      const std::size_t begin = 2 * kStride + kChunkBytes;
      CHECK(mismatch.offset_bytes == begin + (dropped ? 0 : kChunkBytes / 2));
      CHECK(mismatch.mismatched_bytes == (dropped ? kChunkBytes : 8));
      check_clean(session.measure(pipeline_of(memory, kChunks)), 6 * kSize);
    }
  }
}

TEST_CASE("after a pipeline fails the next cell has right data") {
  // A launch of the samples: each batch has four, and filling the device's memory takes one.
  TestSession session(with_faults("cuLaunchKernel:2:nth=12"));
  session.reserve(CopyMemory::kPinned, geometry_of(1, 1, 64 * kKiB));
  const auto failure = error_of([&] { session.measure(pipeline_of(CopyMemory::kPinned, 4)); });
  CHECK(failure.code() == "CUDA_ERROR_OUT_OF_MEMORY");
  CHECK(failure.call() == "cuLaunchKernel");
  check_clean(session.measure(pipeline_of(CopyMemory::kPinned, 4)), 6 * kSize);
}

TEST_CASE("a pipeline is aborted between two batches") {
  TestSession session;
  session.reserve(CopyMemory::kPageable, geometry_of(1, 1, 64 * kKiB));
  auto request = pipeline_of(CopyMemory::kPageable, 3, 1'000'000);
  request.samples = 1'000'000;
  const auto result = measure_aborted(session, request, std::chrono::milliseconds(15));
  CHECK(result.aborted);
  CHECK(result.columns.empty());
}

TEST_CASE("an invalid pipeline is refused") {
  TestSession session;
  for (const auto memory : {CopyMemory::kPinned, CopyMemory::kStaged, CopyMemory::kMapped})
    session.reserve(memory, geometry_of(2, 1, 64 * kKiB));
  const auto code_of = [&](const MeasureRequest& request) {
    return code_from([&] { session.measure(request); });
  };
  CHECK(code_of(pipeline_of(CopyMemory::kStaged, 2)) == "INVALID_REQUEST");
  CHECK(code_of(pipeline_of(CopyMemory::kMapped, 2)) == "INVALID_REQUEST");
  CHECK(code_of(pipeline_of(CopyMemory::kPinned, 0)) == "INVALID_REQUEST");
  CHECK(code_of(pipeline_of(CopyMemory::kPinned, 13)) == "INVALID_REQUEST");
  CHECK(code_of(pipeline_of(CopyMemory::kPinned, 2, 60'000'000'001)) == "INVALID_REQUEST");
  for (const auto direction : {Direction::kDeviceToHost, Direction::kBidirectional}) {
    auto request = pipeline_of(CopyMemory::kPinned, 2);
    request.direction = direction;
    CHECK(code_of(request) == "INVALID_REQUEST");
  }
}

TEST_CASE("a pipeline needs kernels") {
  TestSession session(driver_without_kernels());
  session.reserve(CopyMemory::kPinned, geometry_of(1, 1, 64 * kKiB));
  CHECK(code_from([&] { session.measure(pipeline_of(CopyMemory::kPinned, 2)); }) == "NO_KERNELS");
}

}  // namespace pinbench::test::engine_pipeline
