// Reserving the memory of a session's cells.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <thread>

#include "context/system_file.hpp"
#include "engine_session.hpp"
#include "memory/pattern.hpp"

namespace pinbench::test::engine_reserve {
namespace {

constexpr HostMemoryKind kKinds[] = {HostMemoryKind::kPageable, HostMemoryKind::kPinned,
                                     HostMemoryKind::kRegistered, HostMemoryKind::kWriteCombined};

// Whether the mapping of the address was advised to have huge pages; empty if the system has none.
std::optional<bool> is_advised_huge(const void* address) {
  if (!read_system_file("/sys/kernel/mm/transparent_hugepage/enabled")) return std::nullopt;
  const auto text = read_system_file("/proc/self/smaps").value_or("");
  bool is_there = false;
  for (std::string_view smaps = text; !smaps.empty();) {
    const auto line = take_line(smaps);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    const auto* const last = line.data() + line.size();
    if (const auto [dash, error] = std::from_chars(line.data(), last, begin, 16);
        error == std::errc() && dash != last && *dash == '-') {
      std::from_chars(dash + 1, last, end, 16);
      const auto wanted = reinterpret_cast<std::uintptr_t>(address);
      is_there = begin <= wanted && wanted < end;
    }
    if (is_there && line.starts_with("VmFlags:")) return line.find(" hg") != line.npos;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("every kind of host memory holds the pattern of its position when it is reserved") {
  DeviceContext context(emulated_driver(), 0, session_options().placement);
  constexpr std::uint64_t kSeed = 5;
  const ArenaGeometry geometry{{2, 1}, 96 * kKiB};
  for (const auto kind : kKinds) {
    for (const bool any_thread_touches : {false, true}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(any_thread_touches);
      std::optional<HostArena> arena(std::in_place, context, kind, geometry, kSeed, any_thread_touches);
      CHECK(arena->kind() == kind);
      CHECK(arena->report().bytes == 3 * 96 * kKiB);
      for (const auto& range : whole_arena(geometry)) {
        const auto bytes = arena->bytes(range);
        const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
        // Pageable memory is aligned as malloc does it.
        CHECK(address % (kind == HostMemoryKind::kPageable ? 16 : 4096) == 0);
        if (kind == HostMemoryKind::kRegistered) CHECK(is_advised_huge(bytes.data()).value_or(true));
        CHECK(verify_pattern(bytes, pattern_base(kSeed, range.worker, range.chunk)).mismatchedWords == 0);
      }
      context.on_device_thread([&] { arena.reset(); });
    }
  }
}

TEST_CASE("the thread that touches memory first makes no difference if all of it comes from one node") {
  const auto allows_one = allows_one_memory_node;
  CHECK(allows_one("Name:\tnode\nMems_allowed:\t00000001\nMems_allowed_list:\t0\nThreads:\t7\n"));
  CHECK(allows_one("Mems_allowed_list:\t11"));
  CHECK_FALSE(allows_one("Mems_allowed_list:\t0-1\n"));
  CHECK_FALSE(allows_one("Mems_allowed_list:\t0,2\n"));
  CHECK_FALSE(allows_one("Mems_allowed_list:\n"));
  CHECK_FALSE(allows_one("Name:\tnode\nMems_allowed:\t00000001\n"));
  CHECK_FALSE(allows_one(""));
}

TEST_CASE("huge-page coverage is reported for pageable and registered memory only") {
  TestSession session;
  const auto geometry = geometry_of(1, 1, 5 * kMiB);
  for (const auto kind : kKinds) {
    const auto report = session.reserve_host(kind, geometry);
    const bool is_mapped_by_us = kind == HostMemoryKind::kPageable || kind == HostMemoryKind::kRegistered;
    CHECK(report.huge_page_bytes.has_value() == is_mapped_by_us);
    CHECK(report.huge_page_bytes.value_or(0) <= report.bytes);
  }
}

TEST_CASE("huge-page coverage counts only mappings of the blocks, and at most the bytes of the blocks") {
  // Mappings in the kernel's format: before the blocks, around the first, around the other two, behind them.
  constexpr std::string_view smaps =
      "10000000-10400000 rw-p 00000000 00:00 0 [heap]\n"
      "Size:               4096 kB\nAnonHugePages:      4096 kB\n"
      "20000000-20800000 rw-p 00000000 00:00 0 \n"
      "Size:               8192 kB\nAnonHugePages:      6144 kB\n"
      "30000000-31000000 rw-p 00000000 00:00 0 \n"
      "Size:              16384 kB\nAnonHugePages:     16384 kB\n"
      "40000000-40400000 rw-p 00000000 00:00 0 \n"
      "Size:               4096 kB\nAnonHugePages:      2048 kB\n";
  const auto block = [](std::uintptr_t begin, std::size_t bytes) {
    return std::span(reinterpret_cast<std::byte*>(begin), bytes);
  };
  CHECK(huge_page_bytes(smaps, {block(0x20000000, 8 * kMiB), block(0x30000000, 3 * kMiB),
                                block(0x30800000, kMiB)}) == (6 + 3 + 1) * kMiB);
}

TEST_CASE("only write-combined memory is requested with the write-combined flag") {
  std::vector<unsigned> flags;
  const auto driver = emulated_driver();
  DeviceContext context(driver, 0, session_options().placement);
  watch_calls<&CudaDriver::memHostAlloc>(*driver, [&](void**, std::size_t, unsigned asked) {
    flags.push_back(asked & cu::kHostAllocWriteCombined);
  });
  for (const auto kind : {HostMemoryKind::kWriteCombined, HostMemoryKind::kPinned}) {
    std::optional<HostBlock> block = HostBlock::allocate(context, kind, 4 * kKiB);
    context.on_device_thread([&] { block.reset(); });
  }
  CHECK(flags == std::vector<unsigned>{cu::kHostAllocWriteCombined, 0});
}

TEST_CASE("a registered block is aligned to huge pages, whatever its size") {
  DeviceContext context(emulated_driver(), 0, session_options().placement);
  for (const std::size_t bytes : {std::size_t{1}, 4 * kKiB, 2 * kMiB, 3 * kMiB + 5}) {
    std::optional<HostBlock> block = HostBlock::allocate(context, HostMemoryKind::kRegistered, bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(block->bytes().data()) % (2 * kMiB) == 0);
    CHECK(block->bytes().size() == bytes);
    block->bytes().back() = std::byte{1};
    context.on_device_thread([&] { block.reset(); });
  }
}

TEST_CASE("a smaller geometry reuses the reserved memory, a larger one replaces it") {
  TestSession session;
  const auto kind = HostMemoryKind::kPinned;
  CHECK(session.reserve_host(kind, geometry_of(2, 2, 64 * kKiB)).bytes == 4 * 64 * kKiB);
  CHECK(session.reserve_host(kind, geometry_of(1, 2, 64 * kKiB)).bytes == 4 * 64 * kKiB);
  CHECK(session.reserve_host(kind, geometry_of(3, 2, 64 * kKiB)).bytes == 6 * 64 * kKiB);
  CHECK(session.reserve_host(kind, geometry_of(1, 1, 128 * kKiB)).bytes == 128 * kKiB);
}

TEST_CASE("a reservation takes device memory once, twice with a destination, and frees it") {
  TestSession session;
  const auto free_at_first = session.memory_info().free_bytes;
  session.reserve_device(geometry_of(2, 1, kMiB), false);
  CHECK(session.memory_info().free_bytes == free_at_first - 2 * kMiB);
  session.reserve_device(geometry_of(2, 1, kMiB), true);
  CHECK(session.memory_info().free_bytes == free_at_first - 4 * kMiB);
  session.reserve_device(geometry_of(1, 1, kMiB), false);
  CHECK(session.memory_info().free_bytes == free_at_first - kMiB);
  CHECK(session.memory_info().total_bytes > free_at_first);
}

TEST_CASE("staging rings are one block for all workers, and can be reserved again") {
  const auto driver = emulated_driver();
  std::vector<std::size_t> registered;
  watch_calls<&CudaDriver::memHostRegister>(
      *driver, [&](void*, std::size_t bytes, unsigned) { registered.push_back(bytes); });
  TestSession session(driver);
  session.reserve_staging({2, 3, 64 * kKiB});
  session.reserve_staging({4, 2, 4 * kKiB});
  // Each worker's part has room for the staging slots, and for the slots of host copies.
  session.reserve_staging({2, 3, 4 * kKiB, 5, 64 * kKiB});
  session.reserve_staging({2, 3, 64 * kKiB, 5, 4 * kKiB});
  CHECK(registered == std::vector{6 * 64 * kKiB, 8 * 4 * kKiB, 10 * 64 * kKiB, 6 * 64 * kKiB});
}

TEST_CASE("memory of several kinds can be reserved at the same time") {
  TestSession session;
  const auto geometry = geometry_of(2, 2, 256 * kKiB);
  std::vector<std::thread> threads;
  for (const auto kind : kKinds) threads.emplace_back([&, kind] { session.reserve_host(kind, geometry); });
  session.reserve_device(geometry, false);
  for (auto& thread : threads) thread.join();
  for (const auto memory :
       {CopyMemory::kPageable, CopyMemory::kPinned, CopyMemory::kRegistered, CopyMemory::kWriteCombined}) {
    check_clean(session.measure(request_for(Direction::kHostToDevice, memory, 4 * kKiB, 2)), 12 * 4 * kKiB);
  }
}

TEST_CASE("a reservation fails without enough device memory, and keeps none") {
  TestSession session(with_setting("MEMORY", "8MiB"));
  const auto free_at_first = session.memory_info().free_bytes;
  const auto wanted = [](std::size_t chunks) { return geometry_of(1, chunks, 2 * kMiB); };
  for (const bool with_destination : {false, true}) {
    const auto error =
        error_of([&] { session.reserve_device(wanted(with_destination ? 2 : 5), with_destination); });
    CHECK(error.code() == "CUDA_ERROR_OUT_OF_MEMORY");
    CHECK(error.call() == "cuMemAlloc_v2");
    CHECK_FALSE(error.sticky());
    CHECK(session.memory_info().free_bytes == free_at_first);
  }
  session.reserve_device(wanted(3), false);
}

TEST_CASE("a reservation fails at the limit of pinned memory, and keeps none") {
  TestSession session(with_setting("PINNED_LIMIT", "1MiB"));
  const auto too_much = geometry_of(1, 3, 512 * kKiB);
  const auto call_that_fails = [&](HostMemoryKind kind) {
    const auto error = error_of([&] { session.reserve_host(kind, too_much); });
    CHECK(error.code() == "CUDA_ERROR_OUT_OF_MEMORY");
    CHECK_FALSE(error.sticky());
    return error.call();
  };
  CHECK(call_that_fails(HostMemoryKind::kPinned) == "cuMemHostAlloc");
  CHECK(call_that_fails(HostMemoryKind::kWriteCombined) == "cuMemHostAlloc");
  CHECK(call_that_fails(HostMemoryKind::kRegistered) == "cuMemHostRegister_v2");
  CHECK(error_of([&] { session.reserve_staging({1, 3, 512 * kKiB}); }).call() == "cuMemHostRegister_v2");
  CHECK(error_of([&] { measure_pinning(session, HostMemoryKind::kRegistered, 2 * kMiB); }).call() ==
        "cuMemHostRegister_v2");

  CHECK(session.reserve_host(HostMemoryKind::kPageable, too_much).bytes == too_much.bytes());
  CHECK(session.reserve_host(HostMemoryKind::kPinned, geometry_of(1, 1, 512 * kKiB)).bytes == 512 * kKiB);
}

TEST_CASE("reserving more memory than the system has throws its own error") {
  TestSession session;
  constexpr std::size_t kMoreThanMemory = std::size_t{1} << 46;
  const auto error = error_of(
      [&] { session.reserve_host(HostMemoryKind::kRegistered, geometry_of(1, 1, kMoreThanMemory)); });
  CHECK(error.code() == "OUT_OF_HOST_MEMORY");
  CHECK_FALSE(error.cuda_result().has_value());
}

TEST_CASE("a call fails if its streams or events cannot be made, and the next call makes them") {
  // The first stream is the checker's; each of the two workers has two events.
  for (const char* fault : {"cuStreamCreate:2:nth=2", "cuStreamCreate:2:nth=3", "cuEventCreate:2:nth=2",
                            "cuEventCreate:2:nth=4"}) {
    CAPTURE(fault);
    TestSession session(with_faults(fault));
    session.reserve(CopyMemory::kPinned, geometry_of(2, 1, 64 * kKiB));
    auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, 4 * kKiB, 2);
    CHECK(code_from([&] { session.measure(request); }) == "CUDA_ERROR_OUT_OF_MEMORY");
    check_clean(session.measure(request), 12 * 4 * kKiB);
  }
}

TEST_CASE("a ring whose events cannot be made is not used") {
  TestSession session(with_faults("cuEventCreate:2:nth=7"));
  session.reserve_device(geometry_of(2, 1, 64 * kKiB), false);
  session.reserve_host(HostMemoryKind::kPageable, geometry_of(2, 1, 64 * kKiB));
  CHECK(error_of([&] { session.reserve_staging(small_rings(2)); }).call() == "cuEventCreate");
  const auto request = request_for(Direction::kHostToDevice, CopyMemory::kStaged, 4 * kKiB, 2);
  CHECK(code_from([&] { session.measure(request); }) == "NOT_RESERVED");
  session.reserve_staging(small_rings(2));
  check_clean(session.measure(request), 12 * 4 * kKiB);
}

TEST_CASE("pages that the driver still holds stay mapped, so that no other memory gets their address") {
  for (const bool refused : {false, true}) {
    CAPTURE(refused);
    const auto unregistering_fails = with_faults("cuMemHostUnregister:2");
    DeviceContext context(emulated_driver(refused ? unregistering_fails : Environment{}), 0,
                          session_options().placement);
    std::optional block(HostBlock::allocate(context, HostMemoryKind::kRegistered, 64 * kKiB));
    void* const begin = block->bytes().data();
    context.on_device_thread([&] { block.reset(); });
    CHECK((msync(begin, 64 * kKiB, MS_ASYNC) == 0) == refused);  // ENOMEM if nothing is mapped
  }
}

}  // namespace pinbench::test::engine_reserve
