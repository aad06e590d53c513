// On which NUMA nodes pages lie, by what the kernel says of a process's mappings.
#include <doctest/doctest.h>

#include "engine/page_nodes.hpp"

namespace pinbench::test::engine_page_nodes {
namespace {

std::span<std::byte> memory_at(std::uintptr_t address) {
  return {reinterpret_cast<std::byte*>(address), 4096};
}

constexpr std::string_view kMaps =
    "55d0c0000000 default heap anon=3 dirty=3 N0=3 kernelpagesize_kB=4\n"
    "7f0000000000 prefer:1 anon=20 dirty=20 active=0 N0=4 N1=16 kernelpagesize_kB=4\n"
    "7f0000200000 default file=/usr/lib/libN7=9.so mapped=2 N12=2 kernelpagesize_kB=4\n";

using Counts = std::map<int, std::size_t>;

}  // namespace

TEST_CASE("pages by node are those of the mappings that hold the memory, each counted once") {
  CHECK(pages_in_numa_maps(kMaps, {memory_at(0x7f0000000000)}) == Counts{{0, 4}, {1, 16}});
  CHECK(pages_in_numa_maps(kMaps, {memory_at(0x7f0000001000), memory_at(0x7f0000002000)}) ==
        Counts{{0, 4}, {1, 16}});
  CHECK(pages_in_numa_maps(kMaps, {memory_at(0x7f0000200000)}) == Counts{{12, 2}});
}

TEST_CASE(
    "the system is asked for some thousand pages all over the memory, and those that are not there do not "
    "count") {
  static std::size_t asked = 0;
  const HostCalls calls{nullptr, nullptr, [](void* const*, std::size_t count, int* nodes) {
                          asked = count;
                          for (std::size_t i = 0; i < count; ++i) nodes[i] = i % 2 == 0 ? 3 : -2;
                          return 0;
                        }};
  CHECK(pages_of_nodes(calls, {memory_at(0x7f0000000000), memory_at(0x7f0000200000)}) == Counts{{3, 1}});
  CHECK(asked == 2);
  constexpr std::size_t kGiB = std::size_t{1} << 30;
  pages_of_nodes(calls, {{reinterpret_cast<std::byte*>(0x7f0000000000), kGiB}});
  CHECK(asked == 4096);
}

TEST_CASE("memory that is in no mapping, and an empty text, give no pages") {
  CHECK(pages_in_numa_maps(kMaps, {memory_at(0x1000)}).empty());
  CHECK(pages_in_numa_maps("", {memory_at(0x7f0000000000)}).empty());
}

}  // namespace pinbench::test::engine_page_nodes
