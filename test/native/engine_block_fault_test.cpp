// Blocks that go wrong without an error of the driver: each is found at its destination.
#include <algorithm>
#include <set>

#include "blocks/block_places.hpp"
#include "engine_session.hpp"

namespace pinbench::test::engine_block_fault {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kCount = 8;
constexpr std::size_t kSize = kCount * kBlock;
constexpr std::size_t kBuffers = 6;
constexpr std::size_t kPerSlot = 4;
const ArenaGeometry kArena = geometry_of(2, 2, 4 * kSize);

struct Case {
  BlockWay way;
  CopyMemory memory;
  Direction direction;
  std::string name;
  bool is_beside_other = false;  // direction that copies at the same time
};

// Copy 1 is the warm-up's, then come six samples of one copy. With both directions: one sample of six copies,
// then the refills of the direction that is done first.
MeasureRequest request_of(const Case& of) {
  auto request = request_for(of.is_beside_other ? Direction::kBidirectional : of.direction, of.memory, kSize);
  request.copies_per_sample = of.is_beside_other ? kBuffers : 1;
  request.samples = kBuffers / request.copies_per_sample;
  request.blocks = BlockCopy{kBlock, of.way};
  return request;
}

std::set<std::size_t> places_of(const Case& of, const MeasureRequest& request, std::size_t copy,
                                const std::vector<std::size_t>& blocks) {
  const BlockPlaces places(kArena, kSize, kBlock, request.buffers_with_spare(), 42,
                           request.first_thread(of.direction));
  std::set<std::size_t> offsets;
  for (const std::size_t block : blocks) {
    const auto at =
        of.direction == Direction::kHostToDevice ? places.device(copy, block) : places.host(copy, block);
    offsets.insert(at.chunk * kArena.chunk_bytes + at.offset);
  }
  return offsets;
}

// The fault that hits a block of a copy, by its number among the driver's copies of that direction. A
// kernel's list is copied to the device before its blocks; comparing on the device takes two more copies.
std::string fault_of(const Case& of, const std::string& what, std::size_t copy, std::size_t block,
                     Verify verify) {
  const bool is_upload = of.name == "h2d";
  const std::size_t lists = is_upload && of.way == BlockWay::kKernel ? 1 : 0;
  const std::size_t comparing =
      is_upload && verify == Verify::kEveryCopy && !of.is_beside_other ? 2 * copy : 0;
  const std::size_t before = (1 + copy) * (lists + kCount) + comparing + lists + block;
  return of.name + ":" + what + ":nth=" + std::to_string(before + 1);
}

// The blocks that arrive wrong if this fault hits one: it is mixed up with the previous block, or dropped if
// the driver writes to pageable memory.
std::vector<std::size_t> struck_by(const Case& of, const std::string& what, std::size_t block) {
  const bool is_dropped = of.memory == CopyMemory::kPageable && of.name == "d2h";
  if (is_dropped || what == "drop") return {block};
  if (what == "twice") return {block - 1};
  return {block, block - 1};
}

// Measures with one fault, and requires mismatches in exactly the blocks that it hit.
void check_found(const Case& of, const std::string& what, std::size_t copy, std::size_t block) {
  for (const auto verify : {Verify::kLastCopies, Verify::kEveryCopy}) {
    const std::string fault = fault_of(of, what, copy, block, verify);
    const auto blocks = struck_by(of, what, block);
    CAPTURE(fault);
    CAPTURE(static_cast<int>(of.way));
    CAPTURE(static_cast<int>(verify));
    TestSession session(with_faults(fault));
    session.reserve(CopyMemory::kPinned, kArena);
    session.reserve_host(HostMemoryKind::kPageable, kArena);
    session.reserve_staging({2, 3, kPerSlot * kBlock, 0, 0});
    auto request = request_of(of);
    request.verify = verify;
    const auto result = session.measure(request);
    const std::size_t bytes = request.threads() * kBuffers * kSize;
    CHECK(result.checked_bytes == bytes);
    std::set<std::size_t> found;
    for (const auto& [direction, mismatch] : result.mismatches) {
      CHECK(direction == of.direction);
      CHECK(mismatch.worker == request.first_thread(of.direction));
      CHECK(mismatch.mismatched_bytes == kBlock);
      found.insert(mismatch.offset_bytes);
    }
    CHECK(result.mismatches.size() == blocks.size());
    CHECK(found == places_of(of, request, copy, blocks));
    check_clean(session.measure(request), bytes);
    for (const auto back : {Direction::kHostToDevice, Direction::kDeviceToHost})
      check_clean(session.measure(request_for(back, of.memory, kSize)), kBuffers * kSize);
  }
}

// For kGather, kernels copy within the device.
const Case kCases[] = {
    {BlockWay::kLoop, CopyMemory::kPinned, Direction::kHostToDevice, "h2d"},
    {BlockWay::kLoop, CopyMemory::kPinned, Direction::kDeviceToHost, "d2h"},
    {BlockWay::kLoop, CopyMemory::kPinned, Direction::kDeviceToHost, "d2h", true},
    {BlockWay::kBatch, CopyMemory::kPinned, Direction::kHostToDevice, "h2d"},
    {BlockWay::kBatch, CopyMemory::kPinned, Direction::kDeviceToHost, "d2h"},
    {BlockWay::kBatch, CopyMemory::kPageable, Direction::kHostToDevice, "h2d"},
    {BlockWay::kBatch, CopyMemory::kPageable, Direction::kDeviceToHost, "d2h"},
    {BlockWay::kBatch, CopyMemory::kPinned, Direction::kHostToDevice, "h2d", true},
    {BlockWay::kBatch, CopyMemory::kPageable, Direction::kDeviceToHost, "d2h", true},
    {BlockWay::kKernel, CopyMemory::kPinned, Direction::kHostToDevice, "h2d"},
    {BlockWay::kKernel, CopyMemory::kPinned, Direction::kDeviceToHost, "d2h"},
    {BlockWay::kKernel, CopyMemory::kPinned, Direction::kDeviceToHost, "d2h", true},
    {BlockWay::kGather, CopyMemory::kPinned, Direction::kHostToDevice, "d2d"},
    {BlockWay::kGather, CopyMemory::kPinned, Direction::kDeviceToHost, "d2d"},
    {BlockWay::kGather, CopyMemory::kPageable, Direction::kHostToDevice, "d2d"},
    {BlockWay::kGather, CopyMemory::kPageable, Direction::kDeviceToHost, "d2d"},
};

}  // namespace

TEST_CASE("a block dropped, one that arrives twice and two swapped are found, by every method") {
  for (const auto& each : kCases) {
    for (const std::string what : {"drop", "twice", "swap"}) {
      // A block of the last copy, and the last block of the first copy that no refill overwrites.
      check_found(each, what, kBuffers - 1, 1);
      check_found(each, what, each.is_beside_other ? 1 : 0, kCount - 1);
    }
  }
}

TEST_CASE("with gathered blocks in both directions, only the dropped block is reported") {
  for (const auto memory : {CopyMemory::kPinned, CopyMemory::kPageable}) {
    // The list may be of either direction, because their kernels take turns. The warm-up has four lists;
    // twelve more come before any refill.
    for (const std::size_t list : {4 + 4, 4 + 11}) {
      TestSession session(with_faults("d2d:drop:nth=" + std::to_string(list * kPerSlot + 2)));
      session.reserve(memory, kArena);
      session.reserve_staging({2, 3, kPerSlot * kBlock, 0, 0});
      auto request = request_of({BlockWay::kGather, memory, Direction::kHostToDevice, "", true});
      request.verify = Verify::kEveryCopy;
      CHECK(session.measure(request).mismatches.size() == 1);
      check_clean(session.measure(request), 2 * kBuffers * kSize);
    }
  }
}

TEST_CASE("the warm-up's bytes in slots and scratch memory hide no dropped block") {
  struct Hidden {
    Direction direction;
    const char* faults;
    std::size_t blocks;
  };
  // The warm-up's copy fills two slots, each with a kernel's list; to the device, an address list goes first.
  for (const auto& [direction, faults, blocks] :
       {Hidden{Direction::kHostToDevice, "d2d:drop:nth=11", 1},
        Hidden{Direction::kDeviceToHost, "d2d:drop:nth=11", 1},
        Hidden{Direction::kHostToDevice, "h2d:drop:nth=5", kPerSlot},
        Hidden{Direction::kDeviceToHost, "d2h:drop:nth=3", kPerSlot}}) {
    CAPTURE(std::string(faults));
    TestSession session(with_faults(faults));
    session.reserve(CopyMemory::kPinned, kArena);
    session.reserve_staging({1, 3, kPerSlot * kBlock, 0, 0});
    auto request = request_of({BlockWay::kGather, CopyMemory::kPinned, direction, ""});
    request.samples = 1;  // one sample of the copy that the warm-up made
    CHECK(session.measure(request).mismatches.size() == blocks);
  }
}

TEST_CASE("one wrong byte of a block is reported as its word, with every method") {
  const Case cases[] = {
      {BlockWay::kLoop, CopyMemory::kPinned, Direction::kHostToDevice, "h2d"},
      {BlockWay::kLoop, CopyMemory::kPageable, Direction::kDeviceToHost, "d2h"},
      {BlockWay::kBatch, CopyMemory::kPinned, Direction::kHostToDevice, "h2d"},
      {BlockWay::kBatch, CopyMemory::kPageable, Direction::kDeviceToHost, "d2h"},
      {BlockWay::kKernel, CopyMemory::kPinned, Direction::kDeviceToHost, "d2h"},
      {BlockWay::kGather, CopyMemory::kPageable, Direction::kHostToDevice, "d2d"},
      {BlockWay::kGather, CopyMemory::kPinned, Direction::kDeviceToHost, "d2d"},
  };
  for (const auto& of : cases) {
    constexpr std::size_t kCopy = 3;
    constexpr std::size_t kWrong = 5;
    CAPTURE(static_cast<int>(of.way));
    CAPTURE(of.name);
    TestSession session(
        with_faults(of.name + ":flip:at=24:nth=" + std::to_string(kCount + kCopy * kCount + kWrong + 1)));
    session.reserve(CopyMemory::kPinned, kArena);
    session.reserve_host(HostMemoryKind::kPageable, kArena);
    session.reserve_staging({1, 3, kPerSlot * kBlock, 0, 0});
    const auto result = session.measure(request_of(of));
    REQUIRE(result.mismatches.size() == 1);
    CHECK(result.mismatches[0].mismatch.offset_bytes ==
          *places_of(of, request_of(of), kCopy, {kWrong}).begin() + 24);
    CHECK(result.mismatches[0].mismatch.mismatched_bytes == 8);
  }
}

TEST_CASE("a list of blocks that does not arrive gives mismatches") {
  // Copies to the device: the warm-up's list, then each sample's list followed by its blocks.
  const Case of{BlockWay::kKernel, CopyMemory::kPinned, Direction::kDeviceToHost, "d2h"};
  TestSession session(with_faults("h2d:drop:nth=4"));
  session.reserve(CopyMemory::kPinned, kArena);
  const auto result = session.measure(request_of(of));
  // The third copy went to the second one's slots, and nothing arrived in its own.
  CHECK(result.mismatches.size() == kCount);
}

TEST_CASE("gathered blocks use the ring that was reserved last, larger or smaller") {
  TestSession session;
  session.reserve(CopyMemory::kPinned, kArena);
  const auto request = request_of({BlockWay::kGather, CopyMemory::kPinned, Direction::kHostToDevice, ""});
  for (const auto& [slots, blocks] : {std::pair<std::size_t, std::size_t>{2, 1}, {5, kPerSlot}, {3, 1}}) {
    CAPTURE(slots);
    session.reserve_staging({1, slots, blocks * kBlock, 0, 0});
    check_clean(session.measure(request), kBuffers * kSize);
  }
}

}  // namespace pinbench::test::engine_block_fault
