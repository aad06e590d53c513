// Copies in scattered blocks: by every method, from every memory; each block must arrive, and missing ones
// are found.
#include <algorithm>
#include <set>

#include "blocks/block_places.hpp"
#include "engine_session.hpp"

namespace pinbench::test::engine_block {
namespace {

constexpr std::size_t kBlock = 1024;
constexpr std::size_t kCount = 12;
constexpr std::size_t kSize = kCount * kBlock;
constexpr std::size_t kBuffers = 6;
const ArenaGeometry kArena = geometry_of(4, 2, 4 * kSize);

struct Way {
  BlockWay way;
  CopyMemory memory;
  const char* name;
};

constexpr Way kWays[] = {{BlockWay::kLoop, CopyMemory::kPinned, "loop"},
                         {BlockWay::kLoop, CopyMemory::kPageable, "loop, pageable"},
                         {BlockWay::kBatch, CopyMemory::kPinned, "batch"},
                         {BlockWay::kBatch, CopyMemory::kPageable, "batch, pageable"},
                         {BlockWay::kKernel, CopyMemory::kPinned, "kernel"},
                         {BlockWay::kGather, CopyMemory::kPinned, "gather"},
                         {BlockWay::kGather, CopyMemory::kPageable, "gather, pageable"}};

constexpr Direction kDirections[] = {Direction::kHostToDevice, Direction::kDeviceToHost,
                                     Direction::kBidirectional};

const char* direction_name(Direction direction) {
  if (direction == Direction::kBidirectional) return "bidir";
  return direction == Direction::kHostToDevice ? "h2d" : "d2h";
}

MeasureRequest request_in_blocks(Direction direction, const Way& way, std::size_t block_bytes = kBlock,
                                 std::size_t size_bytes = kSize) {
  auto request = request_for(direction, way.memory, size_bytes);
  request.buffers = kBuffers;
  request.blocks = BlockCopy{block_bytes, way.way};
  return request;
}

class BlockSession : public TestSession {
 public:
  explicit BlockSession(const std::shared_ptr<CudaDriver>& driver, const ArenaGeometry& arena = kArena,
                        std::size_t slot_bytes = 4 * kBlock)
      : TestSession(driver) {
    reserve(CopyMemory::kPinned, arena);
    reserve_host(HostMemoryKind::kPageable, arena);
    reserve_staging({arena.workers(), 3, slot_bytes});
  }
  explicit BlockSession(const Environment& environment = {}) : BlockSession(emulated_driver(environment)) {}
};

// Plain copies in all directions, which fail if buffers were left changed.
void check_left_whole(TestSession& session, CopyMemory memory, std::size_t workers) {
  for (const auto direction : kDirections) {
    auto request = request_for(direction, memory, kSize, workers);
    check_clean(session.measure(request), request.threads() * kBuffers * kSize);
  }
}

}  // namespace

TEST_CASE("a permutation has each number once, is repeatable and not in order") {
  for (const std::uint64_t count : {1, 2, 3, 4, 5, 16, 17, 100, 1000, 4096, 5000}) {
    CAPTURE(count);
    const Permutation permutation(count, 7);
    const Permutation again(count, 7);
    std::set<std::uint64_t> seen;
    std::size_t neighbours = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      CHECK(permutation[i] < count);
      CHECK(again[i] == permutation[i]);
      seen.insert(permutation[i]);
      if (i > 0 && permutation[i] == permutation[i - 1] + 1) ++neighbours;
    }
    CHECK(seen.size() == count);
    // A random permutation has about one.
    if (count >= 1000) CHECK(neighbours <= 8);
  }
  const Permutation one(4096, 7);
  const Permutation other(4096, 8);
  std::size_t same = 0;
  for (std::uint64_t i = 0; i < 4096; ++i) same += one[i] == other[i] ? 1 : 0;
  CHECK(same <= 8);
}

TEST_CASE("blocks use each slot of a rotation once on both sides, within its buffers") {
  constexpr std::size_t kOddBlock = 48;
  constexpr std::size_t kOddSize = 5 * kOddBlock;  // buffers lie 512 bytes apart
  const ArenaGeometry arena = geometry_of(2, 3, 1100);
  for (const std::size_t worker : {0, 1}) {
    const BlockPlaces places(arena, kOddSize, kOddBlock, 6, 42, worker);
    REQUIRE(places.blocks_per_copy() == 5);
    std::set<std::size_t> host;
    std::set<std::size_t> device;
    std::size_t together = 0;  // blocks with the same position on host and device
    for (std::size_t copy = 0; copy < 6; ++copy) {
      for (std::size_t block = 0; block < 5; ++block) {
        const auto from = places.host(copy, block);
        const auto to = places.device(copy, block);
        if (from.chunk == to.chunk && from.offset == to.offset) ++together;
        for (const auto& [used, at] :
             {std::pair(&host, places.host(copy, block)), std::pair(&device, places.device(copy, block))}) {
          CHECK(at.chunk < 3);
          CHECK(at.offset % 512 + kOddBlock <= kOddSize);
          CHECK(at.offset % 512 % kOddBlock == 0);
          CHECK(at.offset + kOddBlock <= arena.chunk_bytes);
          used->insert(at.chunk * arena.chunk_bytes + at.offset);
        }
      }
    }
    CHECK(host.size() == 30);
    CHECK(device.size() == 30);
    CHECK(together < 15);
  }
}

TEST_CASE("every block arrives by every method, in all directions, with all memories and several workers") {
  BlockSession session;
  for (const auto& way : kWays) {
    for (const auto direction : kDirections) {
      for (const std::size_t workers : {1, 2}) {
        CAPTURE(std::string(way.name));
        CAPTURE(std::string(direction_name(direction)));
        CAPTURE(workers);
        auto request = request_in_blocks(direction, way);
        request.workers = workers;
        const auto result = session.measure(request);
        check_clean(result, request.threads() * kBuffers * kSize);
        CHECK(result.copies == request.threads() * kBuffers);
        // Refills copy the first buffer's blocks.
        const std::size_t refilled = request.directions() - 1;
        CHECK(result.proven_copies == request.threads() * (kBuffers - refilled));
        REQUIRE(result.columns.size() == request.directions());
        for (const auto& columns : result.columns) {
          REQUIRE(columns.host_ns.size() == request.samples);
          for (std::size_t sample = 0; sample < request.samples; ++sample) {
            CHECK(columns.host_ns[sample] > 0);
            CHECK(columns.host_ns[sample] <= columns.duration_ns[sample]);
          }
        }
        check_left_whole(session, way.memory, workers);
      }
    }
  }
}

TEST_CASE("the host's time for gathered blocks includes waiting for slots and emptying them") {
  constexpr std::size_t kLargeBlock = 64 * kKiB;
  // The ring holds the whole copy.
  BlockSession session(emulated_driver(with_faults("d2h:slow=1000")), geometry_of(1, 1, kCount * kLargeBlock),
                       4 * kLargeBlock);
  auto request = request_in_blocks(Direction::kDeviceToHost, {BlockWay::kGather, CopyMemory::kPinned, ""},
                                   kLargeBlock, kCount * kLargeBlock);
  request.buffers = request.samples = request.copies_per_sample = 1;
  // 768 KiB at a thousandth of 200 GB/s, which no host exceeds.
  CHECK(session.measure(request).columns.at(0).host_ns.at(0) >= 3.9e6);
}

TEST_CASE("a copy may have one or many blocks of any multiple of 16 bytes, also larger than a slot") {
  const ArenaGeometry arena = geometry_of(2, 3, 40 * kKiB);
  BlockSession session(emulated_driver(), arena);
  struct Shape {
    std::size_t block_bytes;
    std::size_t count;
  };
  for (const auto& [block_bytes, count] :
       {Shape{16, 1}, {16, 37}, {48, 11}, {512, 8}, {1040, 5}, {4096, 3}, {12 * kKiB, 1}, {6000, 2}}) {
    for (const auto& way : kWays) {
      for (const auto direction : kDirections) {
        CAPTURE(block_bytes);
        CAPTURE(std::string(way.name));
        CAPTURE(std::string(direction_name(direction)));
        auto request = request_in_blocks(direction, way, block_bytes, block_bytes * count);
        request.warmup_bytes = request.size_bytes / 2 + 1;
        check_clean(session.measure(request), request.threads() * kBuffers * block_bytes * count);
      }
    }
  }
}

TEST_CASE("a call may copy a part of a rotation, from any buffer on and beyond its end") {
  BlockSession session;
  for (const auto& way : kWays) {
    for (const auto direction : kDirections) {
      CAPTURE(std::string(way.name));
      auto request = request_in_blocks(direction, way);
      request.first_buffer = 5;
      request.copies_per_sample = 1;
      request.samples = 3;
      check_clean(session.measure(request), request.threads() * 3 * kSize);
      request.samples = 9;  // nine samples: three of the buffers are copied twice
      const auto result = session.measure(request);
      check_clean(result, request.threads() * kBuffers * kSize);
      CHECK(result.proven_copies == request.threads() * 3);
      request.verify = Verify::kNone;
      CHECK(session.measure(request).checked_bytes == 0);
      check_left_whole(session, way.memory, 1);
    }
  }
}

TEST_CASE("every copy compared: the blocks of every sample are right, and all copies proven") {
  BlockSession session;
  for (const auto& way : kWays) {
    for (const auto direction : kDirections) {
      CAPTURE(std::string(way.name));
      CAPTURE(std::string(direction_name(direction)));
      auto request = request_in_blocks(direction, way);
      request.verify = Verify::kEveryCopy;
      request.workers = 2;
      request.copies_per_sample = 2;
      request.samples = 5;
      const auto result = session.measure(request);
      check_clean(result, request.threads() * 10 * kSize);
      CHECK(result.proven_copies == request.threads() * 10);
      check_left_whole(session, way.memory, 2);
    }
  }
}

TEST_CASE("a kernel copies blocks with one block of threads on each multiprocessor") {
  static std::shared_ptr<const CudaDriver> original;
  unsigned grid = 0;
  const auto driver = emulated_driver();
  original = std::make_shared<const CudaDriver>(*driver);
  watch_launches(*driver, [&](const Launch& launch) {
    if (launch.threads == kernels::kCopyBlocksThreads && launch.parameter(1) == 4096) grid = launch.grid;
  });
  constexpr unsigned kMultiprocessors = 4;
  driver->deviceGetAttribute.function = [](int* value, int attribute, cu::Device device) {
    const auto result = original->deviceGetAttribute.function(value, attribute, device);
    if (attribute == cu::kAttributeMultiprocessorCount) *value = kMultiprocessors;
    return result;
  };
  constexpr std::size_t kMany = 4096;
  BlockSession session(driver, geometry_of(1, 1, 6 * kMany * 64));
  auto request = request_in_blocks(Direction::kHostToDevice, kWays[4], 64, kMany * 64);
  request.verify = Verify::kNone;
  CHECK_FALSE(session.measure(request).aborted);
  CHECK(grid == kMultiprocessors);
}

TEST_CASE("a batch reads its sources in stream order, but pageable ones at any time") {
  cu::CopyAttributes asked;
  const auto driver = emulated_driver();
  watch_calls<&CudaDriver::memcpyBatchAsync>(
      *driver, [&](cu::DevicePtr*, cu::DevicePtr*, std::size_t*, std::size_t, cu::CopyAttributes* attributes,
                   std::size_t*, std::size_t, std::size_t*, cu::Stream) { asked = attributes[0]; });
  BlockSession session(driver);
  const auto check = [&](CopyMemory memory, Direction direction, int order) {
    CAPTURE(static_cast<int>(memory));
    session.measure(request_in_blocks(direction, {BlockWay::kBatch, memory, ""}));
    CHECK(asked.source_access_order == order);
    CHECK(asked.flags == 0);
  };
  constexpr auto kTo = Direction::kHostToDevice;
  constexpr auto kFrom = Direction::kDeviceToHost;
  check(CopyMemory::kPinned, kTo, cu::kSourceAccessOrderStream);
  check(CopyMemory::kPageable, kTo, cu::kSourceAccessOrderAny);
  check(CopyMemory::kPageable, kFrom, cu::kSourceAccessOrderStream);
}

TEST_CASE("requests for blocks are refused if they are invalid, or the driver or the build lacks a feature") {
  BlockSession session;
  const auto code_of = [&](const auto& change) {
    auto request = request_in_blocks(Direction::kHostToDevice, kWays[0]);
    change(request);
    return code_from([&] { session.measure(request); });
  };
  CHECK(code_of([](auto& request) { request.blocks->bytes = 0; }) == "INVALID_REQUEST");
  CHECK(code_of([](auto& request) { request.blocks->bytes = 24; }) == "INVALID_REQUEST");
  CHECK(code_of([](auto& request) { request.blocks->bytes = 16 * 11; }) == "INVALID_REQUEST");
  CHECK(code_of([](auto& request) { request.memory = CopyMemory::kMapped; }) == "INVALID_REQUEST");
  CHECK(code_of([](auto& request) { request.memory = CopyMemory::kStaged; }) == "INVALID_REQUEST");
  CHECK(code_of([](auto& request) { request.warm = true; }) == "INVALID_REQUEST");
  CHECK(code_of([](auto& request) {
          request.latency = true;
          request.copies_per_sample = 1;
        }) == "INVALID_REQUEST");
  CHECK(code_of([](auto& request) { request.pipeline = Pipeline{}; }) == "INVALID_REQUEST");
  CHECK(code_of([](auto& request) {
          request = request_in_blocks(request.direction, {BlockWay::kKernel, CopyMemory::kPageable, ""});
        }) == "INVALID_REQUEST");
  check_left_whole(session, CopyMemory::kPinned, 1);

  const auto refusal = [](const std::shared_ptr<CudaDriver>& driver, BlockWay way) {
    BlockSession lacking(driver);
    const auto request = request_in_blocks(Direction::kHostToDevice, {way, CopyMemory::kPinned, ""});
    return code_from([&] { lacking.measure(request); });
  };
  CHECK(refusal(driver_without_kernels(), BlockWay::kKernel) == "NO_KERNELS");
  CHECK(refusal(driver_without_kernels(), BlockWay::kGather) == "NO_KERNELS");
  const auto old_driver = emulated_driver();
  old_driver->memcpyBatchAsync = {};
  CHECK(refusal(old_driver, BlockWay::kBatch) == "NO_BATCH_COPIES");
  TestSession few_rings;
  few_rings.reserve(CopyMemory::kPinned, kArena);
  const auto gather_code = [&](Direction direction) {
    return code_from([&] { few_rings.measure(request_in_blocks(direction, kWays[5])); });
  };
  CHECK(gather_code(Direction::kHostToDevice) == "NOT_RESERVED");
  few_rings.reserve_staging({1, 3, 4 * kBlock, 0, 0});
  CHECK(gather_code(Direction::kBidirectional) == "NOT_RESERVED");
}

TEST_CASE("after a call fails in a cell with blocks the next cell has right data") {
  const auto failing = [](Direction direction, const Way& way, const char* call, std::size_t nth) {
    BlockSession session(with_faults(failing_call(call, nth, 1)));
    CAPTURE(std::string(way.name));
    const auto request = request_in_blocks(direction, way);
    const auto error = error_of([&] { session.measure(request); });
    CHECK(error.code() == "CUDA_ERROR_INVALID_VALUE");
    CHECK(error.call() == call);
    check_clean(session.measure(request), request.threads() * kBuffers * kSize);
    check_left_whole(session, way.memory, 1);
  };
  for (const auto direction : {Direction::kHostToDevice, Direction::kBidirectional}) {
    failing(direction, kWays[0], "cuMemcpyHtoDAsync_v2", 3 * kCount);
    failing(direction, kWays[2], "cuMemcpyBatchAsync", 3);
    failing(direction, kWays[4], "cuLaunchKernel", 12);
    failing(direction, kWays[5], "cuStreamWaitEvent", 8);
  }
}

TEST_CASE("an abort stops copies in blocks between two copies") {
  for (const auto direction : {Direction::kDeviceToHost, Direction::kBidirectional}) {
    BlockSession session;
    auto request = request_in_blocks(direction, kWays[5]);
    request.samples = 1'000'000;
    const auto result = measure_aborted(session, request, std::chrono::milliseconds(15));
    CHECK(result.aborted);
    CHECK(result.columns.empty());
    CHECK(result.mismatches.empty());
  }
}

}  // namespace pinbench::test::engine_block
