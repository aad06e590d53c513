// Copies that an injected fault hits.
#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>

#include "emulated_library.hpp"
#include "kernels/kernel_abi.hpp"

namespace pinbench::test::emulated_copy_fault {
namespace {

Environment faults(const std::string& list) {
  return {{"PINBENCH_EMULATED_FAULTS", list}};
}

// Device memory of zeros, and bytes to send there.
struct Copies {
  explicit Copies(const EmulatedDevice& copying, std::size_t size)
      : device(copying), bytes(size), memory(copying.device_memory(size)), sent(test_bytes(size)) {
    REQUIRE(device.memsetD8Async(memory, 0, bytes, device.stream) == cu::kSuccess);
  }

  void send(const unsigned char* source) const {
    REQUIRE(device.memcpyHtoDAsync(memory, source, bytes, device.stream) == cu::kSuccess);
    REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
  }

  const EmulatedDevice& device;
  std::size_t bytes;
  cu::DevicePtr memory;
  std::vector<unsigned char> sent;
};

// Where two buffers of one size differ.
std::vector<std::size_t> differences(const std::vector<unsigned char>& a,
                                     const std::vector<unsigned char>& b) {
  REQUIRE(a.size() == b.size());
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) places.push_back(i);
  }
  return places;
}

// The ways of a copy, each with its direction's name in faults.
struct Way {
  const char* name;
  const char* direction;
};
constexpr Way kWays[] = {{"from pageable memory", "h2d"}, {"from pinned memory", "h2d"},
                         {"from mapped memory", "h2d"},   {"to pageable memory", "d2h"},
                         {"to pinned memory", "d2h"},     {"to mapped memory", "d2h"},
                         {"within the device", "d2d"}};

// What is at the destination of a copy, where sevens were before. It makes one copy in the way's direction.
std::vector<unsigned char> arrived_by(const Way& way, const EmulatedDevice& device,
                                      const std::vector<unsigned char>& sent) {
  const std::size_t bytes = sent.size();
  const std::string_view name = way.name;
  const std::string_view direction = way.direction;
  const cu::DevicePtr memory = device.device_memory(bytes);
  const cu::DevicePtr other = device.device_memory(bytes);
  unsigned char* const host = device.pinned_memory(bytes, cu::kHostAllocPortable | cu::kHostAllocDeviceMap);
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(host));
  const bool by_kernel = name.ends_with("mapped memory");
  const auto launch = [&](std::uint64_t to, std::uint64_t from) {
    REQUIRE(device.launch(device.kernel(kernels::kZeroCopy), {to, from, bytes}) == cu::kSuccess);
  };
  const auto done = [&](cu::Result result) {
    REQUIRE(result == cu::kSuccess);
    REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
  };
  done(device.memsetD8Async(direction == "d2d" ? other : memory, 7, bytes, device.stream));
  if (direction == "h2d") {
    std::copy(sent.begin(), sent.end(), host);
    const bool is_pinned = name == "from pinned memory";
    if (by_kernel)
      launch(memory, address);
    else
      done(device.memcpyHtoDAsync(memory, is_pinned ? host : sent.data(), bytes, device.stream));
    return device.read_back(memory, bytes);
  }
  done(device.memcpyHtoDAsync(memory, sent.data(), bytes, device.stream));
  if (direction == "d2d") {
    done(device.memcpyDtoDAsync(other, memory, bytes, device.stream));
    return device.read_back(other, bytes);
  }
  std::vector<unsigned char> pageable(bytes, 7);
  std::fill_n(host, bytes, static_cast<unsigned char>(7));
  const bool is_pageable = name == "to pageable memory";
  if (by_kernel)
    launch(address, memory);
  else
    done(device.memcpyDtoHAsync(is_pageable ? pageable.data() : host, memory, bytes, device.stream));
  done(cu::kSuccess);
  return is_pageable ? pageable : std::vector<unsigned char>(host, host + bytes);
}

}  // namespace

TEST_CASE(
    "the copy that is named is corrupted in the middle, or dropped without an error; others are whole") {
  for (const auto& way : kWays) {
    // A pageable copy is moved at once if it is small, and in pieces if it is large.
    for (const std::size_t bytes : {std::size_t{100}, 3 * kMiB + 10}) {
      CAPTURE(way.name);
      CAPTURE(bytes);
      const std::string of_way = R"({"copy": ")" + std::string(way.direction) + R"(", "fault": )";
      const EmulatedDevice device(
          faults("[" + of_way + R"("flip", "nth": 2}, )" + of_way + R"("drop", "nth": 3}])"));
      const auto sent = test_bytes(bytes);
      CHECK(arrived_by(way, device, sent) == sent);
      CHECK(differences(arrived_by(way, device, sent), sent) == std::vector{bytes / 2});
      CHECK(arrived_by(way, device, sent) == std::vector<unsigned char>(bytes, 7));
      CHECK(arrived_by(way, device, sent) == sent);
    }
  }
}

TEST_CASE("copies in one direction can be slowed down") {
  const EmulatedDevice device(faults(R"([{"link": "h2d", "slowdown": 100}])"));
  constexpr std::size_t kBytes = 2 * kMiB;
  const Copies copies(device, kBytes);
  unsigned char* const host = device.pinned_memory(kBytes);
  std::copy(copies.sent.begin(), copies.sent.end(), host);
  const cu::Event start = device.new_event();
  const cu::Event end = device.new_event();
  REQUIRE(device.eventRecord(start, device.stream) == cu::kSuccess);
  REQUIRE(device.memcpyHtoDAsync(copies.memory, host, kBytes, device.stream) == cu::kSuccess);
  REQUIRE(device.eventRecord(end, device.stream) == cu::kSuccess);
  CHECK(device.read_back(copies.memory, kBytes) == copies.sent);
  float milliseconds = 0;
  REQUIRE(device.eventElapsedTime(&milliseconds, start, end) == cu::kSuccess);
  // No host copies faster than at 200 GB/s, which makes 10 microseconds of 2 MiB.
  CHECK(milliseconds >= 1.0f);
}

TEST_CASE("a byte at a place that is named can be flipped") {
  constexpr std::size_t kBytes = 2 * kMiB + 100;
  const auto flipped = [](const std::string& at) {
    const EmulatedDevice device(faults(R"([{"copy": "h2d", "fault": "flip", "nth": 1, "at": )" + at + "}]"));
    const Copies copies(device, kBytes);
    copies.send(copies.sent.data());
    return differences(device.read_back(copies.memory, kBytes), copies.sent);
  };
  CHECK(flipped("0") == std::vector{std::size_t{0}});
  CHECK(flipped("1048577") == std::vector{std::size_t{1048577}});
  CHECK(flipped("-1") == std::vector{kBytes - 1});
  CHECK(flipped("1e12") == std::vector{kBytes - 1});
}

TEST_CASE("a copy can be shifted: no word is where it should be") {
  const auto shifted = [](bool pinned, std::size_t bytes) {
    const EmulatedDevice device(faults(R"([{"copy": "h2d", "fault": "shift", "nth": 1}])"));
    const Copies copies(device, bytes);
    unsigned char* const host = device.pinned_memory(bytes);
    std::copy(copies.sent.begin(), copies.sent.end(), host);
    copies.send(pinned ? host : copies.sent.data());
    return std::pair(device.read_back(copies.memory, bytes), copies.sent);
  };
  for (const bool pinned : {true, false}) {
    auto [arrived, sent] = shifted(pinned, kMiB);
    std::rotate(sent.begin(), sent.end() - 8, sent.end());
    CHECK(arrived == sent);
    auto [arrived_short, sent_short] = shifted(pinned, 8);
    std::rotate(sent_short.begin(), sent_short.end() - 4, sent_short.end());
    CHECK(arrived_short == sent_short);
  }
}

TEST_CASE("a copy can be stale: what arrives is what the last right one carried") {
  for (const std::size_t bytes : {std::size_t{100}, 3 * kMiB + 10}) {
    SUBCASE("to the device") {
      const EmulatedDevice device(faults(R"([{"copy": "h2d", "fault": "stale", "from": 2, "to": 3}])"));
      const Copies copies(device, bytes);
      const auto others = test_bytes(bytes, 2);
      copies.send(copies.sent.data());
      copies.send(others.data());
      CHECK(device.read_back(copies.memory, bytes) == copies.sent);
      copies.send(others.data());
      CHECK(device.read_back(copies.memory, bytes) == copies.sent);
      copies.send(others.data());
      CHECK(device.read_back(copies.memory, bytes) == others);
    }
    SUBCASE("from the device") {
      const EmulatedDevice device(faults(R"([{"copy": "d2h", "fault": "stale", "nth": 2}])"));
      const Copies copies(device, bytes);
      CHECK(device.read_back(copies.memory, bytes) == std::vector<unsigned char>(bytes, 0));
      copies.send(copies.sent.data());
      CHECK(device.read_back(copies.memory, bytes) == std::vector<unsigned char>(bytes, 0));
      CHECK(device.read_back(copies.memory, bytes) == copies.sent);
    }
    SUBCASE("where there was none, nothing arrives") {
      const EmulatedDevice device(faults(R"([{"copy": "h2d", "fault": "stale", "nth": 1}])"));
      const Copies copies(device, bytes);
      copies.send(copies.sent.data());
      CHECK(device.read_back(copies.memory, bytes) == std::vector<unsigned char>(bytes, 0));
    }
  }
}

// The context is lost with the library: it can no longer be released.
TEST_CASE("a copy can arrive twice, or be swapped with the one before in its direction") {
  const auto check = [](bool is_swapped, std::size_t bytes) {
    CAPTURE(is_swapped);
    CAPTURE(bytes);
    const EmulatedDevice device(faults(std::string(R"([{"copy": "d2h", "nth": 9, "fault": "swap"},
                                                       {"copy": "h2d", "nth": 2, "fault": ")") +
                                       (is_swapped ? "swap" : "twice") + R"("}])"));
    const Copies first(device, bytes);
    const Copies second(device, bytes);
    const auto other = test_bytes(bytes, 7);
    first.send(first.sent.data());
    // One of another direction, between them.
    auto* const host = device.pinned_memory(bytes);
    REQUIRE(device.memcpyDtoHAsync(host, first.memory, bytes, device.stream) == cu::kSuccess);
    second.send(other.data());
    CHECK(std::equal(first.sent.begin(), first.sent.end(), host));
    CHECK(device.read_back(first.memory, bytes) == other);
    CHECK(device.read_back(second.memory, bytes) == (is_swapped ? first.sent : other));
  };
  for (const bool is_swapped : {false, true}) {
    check(is_swapped, 256);
    check(is_swapped, 3 * kMiB + 10);  // a pageable one is moved in pieces
  }
}

TEST_CASE("a copy that would arrive where one of another size went does not arrive at all") {
  const EmulatedDevice device(faults(R"([{"copy": "h2d", "nth": 2, "fault": "twice"}])"));
  const Copies first(device, 256);
  const Copies second(device, 128);
  first.send(first.sent.data());
  second.send(test_bytes(128, 7).data());
  CHECK(device.read_back(first.memory, 256) == first.sent);
  CHECK(device.read_back(second.memory, 128) == std::vector<unsigned char>(128, 0));
}

TEST_CASE("a copy can be one that never completes, nor does what is behind it") {
  const EmulatedLibrary library;
  REQUIRE(library.initialize(faults(R"([{"copy": "h2d", "fault": "never", "nth": 1}])")) == cu::kSuccess);
  cu::Context context = nullptr;
  cu::Stream stream = nullptr;
  cu::DevicePtr memory = 0;
  void* host = nullptr;
  REQUIRE(library.primaryContextRetain(&context, 0) == cu::kSuccess);
  REQUIRE(library.contextSetCurrent(context) == cu::kSuccess);
  REQUIRE(library.streamCreate(&stream, cu::kStreamNonBlocking) == cu::kSuccess);
  REQUIRE(library.memAlloc(&memory, 64) == cu::kSuccess);
  REQUIRE(library.memHostAlloc(&host, 64, 0) == cu::kSuccess);
  CHECK(library.memcpyHtoDAsync(memory, host, 64, stream) == cu::kSuccess);
  CHECK(library.memcpyHtoDAsync(memory, host, 64, stream) == cu::kSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(library.streamQuery(stream) == cu::kErrorNotReady);
  CHECK(library.contextSetCurrent(nullptr) == cu::kSuccess);
}

}  // namespace pinbench::test::emulated_copy_fault
