// The copies that the host makes by itself, between pageable buffers and the slots of the staging rings.
#include "checks/cell_data.hpp"
#include "engine_session.hpp"
#include "memory/pattern.hpp"

namespace pinbench::test::engine_host_copy {
namespace {

constexpr std::uint64_t kSeed = 9;
constexpr std::size_t kSlot = 16 * kKiB;
constexpr std::size_t kSlots = 4;
constexpr std::size_t kSize = 40000;  // two whole slots and a part of a third,
constexpr std::size_t kPieces = 3;    // two such buffers
constexpr std::size_t kStride = 40448;
constexpr std::size_t kChunk = 2 * kStride;  // in a chunk
const ArenaGeometry kArena = geometry_of(2, 3, kChunk);
constexpr Direction kDirections[] = {Direction::kHostToDevice, Direction::kDeviceToHost};

std::size_t place_of(std::size_t buffer) {
  return buffer / 2 * kChunk + buffer % 2 * kStride;
}

// The parts of a session that copy, so that a test can leave out or corrupt copies.
struct Memory {
  explicit Memory(DeviceContext& context, std::size_t slot_bytes)
      : checker(context, nullptr),
        arena(context, HostMemoryKind::kPageable, kArena, kSeed, true),
        lanes(context) {
    lanes.reserve_rings({2, kSlots, slot_bytes});
  }
  Checker checker;
  HostArena arena;
  Lanes lanes;
};

class HostCell {
 public:
  explicit HostCell(Direction direction, std::size_t slot_bytes = kSlot)
      : request(request_for(direction, CopyMemory::kHost, kSize, 2)),
        memory(std::make_unique<Memory>(context, slot_bytes)) {}
  ~HostCell() {
    context.free_on_device_thread([this] { memory.reset(); });
  }

  std::vector<HostStretch> results() {
    return host_copy_results(request, memory->arena, memory->lanes, kSeed);
  }

  // Makes all copies of both workers, except copy `left_out` of worker 1.
  void copy(std::optional<std::size_t> left_out = std::nullopt) {
    std::vector<std::byte> nowhere(kSize);
    if (request.direction == Direction::kDeviceToHost)
      memory->checker.fill(host_copy_sources(2, memory->lanes, kSeed));
    memory->checker.poison(results(), true);
    for (std::size_t worker = 0; worker < 2; ++worker) {
      const auto transfer = make_transfer(context.cuda(), memory->lanes[worker], request.direction,
                                          request.memory, request.size_bytes, nullptr);
      for (std::size_t i = 0; i < request.total_copies(); ++i) {
        const auto at = buffer_position(kArena, kSize, (request.first_buffer + i) % request.buffers);
        BufferPair buffer{};
        buffer.host = memory->arena.chunk(worker, at.chunk).data() + at.offset;
        if (worker == 1 && i == left_out) buffer.host = nowhere.data();
        transfer->issue(buffer);
      }
      transfer->finish();
    }
  }

  std::vector<Mismatch> mismatches() { return memory->checker.verify(results()); }

  DeviceContext context{emulated_driver(), 0, session_options().placement};
  MeasureRequest request;
  std::unique_ptr<Memory> memory;
};

TestSession& with_host_memory(TestSession& session, const StagingShape& ring = {2, kSlots, kSlot}) {
  session.reserve_host(HostMemoryKind::kPageable, kArena);
  session.reserve_staging(ring);
  return session;
}

}  // namespace

TEST_CASE("copies by the host alone are measured and compared without device memory") {
  for (const auto direction : kDirections) {
    for (const std::size_t slot_bytes : {kSlot, std::size_t{5000}, 64 * kKiB}) {
      CAPTURE(static_cast<int>(direction));
      CAPTURE(slot_bytes);
      TestSession session;
      with_host_memory(session, {2, kSlots, slot_bytes});
      const auto result = session.measure(request_for(direction, CopyMemory::kHost, kSize, 2));
      CHECK_FALSE(result.aborted);
      CHECK(result.mismatches.empty());
      REQUIRE(result.columns.size() == 1);
      CHECK(result.columns[0].direction == direction);
      CHECK(result.columns[0].duration_ns.size() == 2);
      if (direction == Direction::kDeviceToHost) CHECK(result.checked_bytes == 2 * 6 * kSize);
      // The last four pieces of each worker are in its slots: two whole ones and two ends of buffers.
      if (slot_bytes == kSlot && direction == Direction::kHostToDevice)
        CHECK(result.checked_bytes == 2 * (2 * kSlot + 2 * (kSize - 2 * kSlot)));
    }
  }
}

TEST_CASE("host copies are right wherever their rotation begins and however often it repeats") {
  for (const auto direction : kDirections) {
    for (const std::size_t copies : {1, 2, 3, 10}) {
      for (const std::size_t size_bytes : {std::size_t{13}, kSlot, kSize}) {
        CAPTURE(static_cast<int>(direction));
        CAPTURE(copies);
        CAPTURE(size_bytes);
        TestSession session;
        with_host_memory(session);
        auto request = request_for(direction, CopyMemory::kHost, size_bytes, 2);
        request.buffers = 5;
        request.first_buffer = 3;
        request.copies_per_sample = copies;
        const auto result = session.measure(request);
        CHECK(result.mismatches.empty());
        CHECK(result.checked_bytes > 0);
      }
    }
  }
}

TEST_CASE("host copies leave buffers as other cells expect them, compared or not") {
  for (const auto direction : kDirections) {
    for (const bool verify : {true, false}) {
      CAPTURE(static_cast<int>(direction));
      CAPTURE(verify);
      TestSession session;
      with_host_memory(session);
      session.reserve_device(kArena, false);
      auto request = request_for(direction, CopyMemory::kHost, kSize, 2);
      request.verify = verify ? Verify::kLastCopies : Verify::kNone;
      session.measure(request);
      for (const auto memory : {CopyMemory::kPageable, CopyMemory::kStaged}) {
        check_clean(session.measure(request_for(Direction::kHostToDevice, memory, kSize, 2)), 12 * kSize);
        check_clean(session.measure(request_for(Direction::kDeviceToHost, memory, kSize, 2)), 12 * kSize);
      }
    }
  }
}

TEST_CASE("a wrong byte in a slot or a buffer is reported with its worker and word") {
  SUBCASE("in a slot") {
    HostCell cell(Direction::kHostToDevice);
    cell.copy();
    CHECK(cell.mismatches().empty());
    cell.memory->lanes[1].ring.slots[2][1003] ^= std::byte{1};
    const auto found = cell.mismatches();
    REQUIRE(found.size() == 1);
    CHECK(found[0].worker == 1);
    CHECK(found[0].offset_bytes == 2 * kSlot + 1000);
    CHECK(found[0].mismatched_bytes == 8);
  }
  SUBCASE("in a buffer") {
    HostCell cell(Direction::kDeviceToHost);
    cell.copy();
    CHECK(cell.mismatches().empty());
    cell.memory->arena.chunk(1, 1)[kStride + 20003] ^= std::byte{1};
    const auto found = cell.mismatches();
    REQUIRE(found.size() == 1);
    CHECK(found[0].worker == 1);
    CHECK(found[0].offset_bytes == place_of(3) + 20000);
    CHECK(found[0].mismatched_bytes == 8);
  }
}

TEST_CASE("a missing host copy is reported whole, because its destination was poisoned") {
  HostCell cell(Direction::kDeviceToHost);
  cell.copy(3);
  const auto found = cell.mismatches();
  REQUIRE(found.size() == kPieces);
  CHECK(found.front().offset_bytes == place_of(3));
  std::size_t wrong_bytes = 0;
  for (const auto& mismatch : found) {
    CHECK(mismatch.worker == 1);
    wrong_bytes += mismatch.mismatched_bytes;
  }
  CHECK(wrong_bytes == kSize);
}

TEST_CASE("host cells use their own slots, whatever ring staged copies use") {
  for (const auto direction : kDirections) {
    for (const StagingShape ring :
         {StagingShape{2, 2, 4 * kKiB, 3, 64 * kKiB}, StagingShape{2, 6, 64 * kKiB, 2, 8 * kKiB}}) {
      CAPTURE(static_cast<int>(direction));
      CAPTURE(ring.slots);
      TestSession session;
      with_host_memory(session, ring);
      const auto result = session.measure(request_for(direction, CopyMemory::kHost, kSize, 2));
      CHECK(result.mismatches.empty());
      const std::size_t pieces = std::min<std::size_t>(
          ring.host_slots, 6 * ((kSize + ring.host_chunk_bytes - 1) / ring.host_chunk_bytes));
      if (direction == Direction::kHostToDevice)
        CHECK(result.checked_bytes <= 2 * pieces * ring.host_chunk_bytes);
      if (direction == Direction::kHostToDevice) CHECK(result.checked_bytes > 0);
      if (direction == Direction::kDeviceToHost) CHECK(result.checked_bytes == 2 * 6 * kSize);
    }
  }
}

TEST_CASE("a copy from the wrong buffer is found in the slots that it filled last") {
  HostCell cell(Direction::kHostToDevice);
  cell.copy(5);
  const auto found = cell.mismatches();
  CHECK(found.size() == kPieces);
  for (const auto& mismatch : found) CHECK(mismatch.worker == 1);
}

TEST_CASE("exchanged pieces are found, because every slot and buffer has its own pattern") {
  HostCell cell(Direction::kDeviceToHost);
  cell.copy();
  const auto first = cell.memory->arena.chunk(0, 0).subspan(0, kSlot);
  const auto second = cell.memory->arena.chunk(1, 0).subspan(0, kSlot);
  std::swap_ranges(first.begin(), first.end(), second.begin());
  CHECK(cell.mismatches().size() == 2);
}

TEST_CASE("host copies need pageable memory and rings, and go one way at a time") {
  const auto code_of = [](TestSession& session, Direction direction) {
    return code_from([&] { session.measure(request_for(direction, CopyMemory::kHost, kSize, 2)); });
  };
  TestSession bare;
  CHECK(code_of(bare, Direction::kHostToDevice) == "NOT_RESERVED");
  bare.reserve_host(HostMemoryKind::kPageable, kArena);
  CHECK(code_of(bare, Direction::kHostToDevice) == "NOT_RESERVED");
  bare.reserve_staging({1, kSlots, kSlot});
  CHECK(code_of(bare, Direction::kDeviceToHost) == "NOT_RESERVED");
  TestSession session;
  CHECK(code_of(with_host_memory(session), Direction::kBidirectional) == "INVALID_REQUEST");
}

TEST_CASE("an abort stops host copies between two copies") {
  TestSession session;
  with_host_memory(session);
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kHost, kSize, 2);
  request.copies_per_sample = std::size_t{1} << 30;
  const auto result = measure_aborted(session, request, std::chrono::milliseconds(20));
  CHECK(result.aborted);
  CHECK(result.columns.empty());
}

}  // namespace pinbench::test::engine_host_copy
