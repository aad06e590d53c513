// The system's pages: alignment and pieces of memory, and its NUMA nodes by the kernel's list of mappings.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cerrno>

#include "memory/page_nodes.hpp"
#include "memory/page_sizes.hpp"

namespace pinbench::test::engine_pages {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGiB = std::size_t{1} << 30;

constexpr PageSizes kX86{4096, 2 * kMiB};
constexpr PageSizes kGrace{65536, 512 * kMiB};  // as its kernels have them by default

std::span<std::byte> memory_at(std::uintptr_t address) {
  return {reinterpret_cast<std::byte*>(address), 4096};
}

constexpr std::string_view kMaps =
    "55d0c0000000 default heap anon=3 dirty=3 N0=3 kernelpagesize_kB=4\n"
    "7f0000000000 prefer:1 anon=20 dirty=20 active=0 N0=4 N1=16 kernelpagesize_kB=4\n"
    "7f0000200000 default file=/usr/lib/libN7=9.so mapped=2 N12=2 kernelpagesize_kB=4\n";

using Counts = std::map<int, std::size_t>;

}  // namespace

TEST_CASE("the size of a page is the system's") {
  CHECK(page_sizes().page == static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

TEST_CASE("memory is aligned to huge pages, or to 2 MiB if it is smaller than a huge page") {
  CHECK(kX86.alignment(1) == 2 * kMiB);
  CHECK(kX86.alignment(kGiB) == 2 * kMiB);
  CHECK(kGrace.alignment(512 * kMiB) == 512 * kMiB);
  CHECK(kGrace.alignment(512 * kMiB - 1) == 2 * kMiB);
}

TEST_CASE("pieces are whole huge pages if each can have one, else whole smaller pages") {
  CHECK(kX86.unit_of_pieces(8 * kMiB, 4) == 2 * kMiB);
  CHECK(kX86.unit_of_pieces(8 * kMiB, 5) == 4096);
  CHECK(kGrace.unit_of_pieces(16 * kGiB, 32) == 512 * kMiB);
  CHECK(kGrace.unit_of_pieces(16 * kGiB, 33) == 2 * kMiB);
  CHECK(kGrace.unit_of_pieces(8 * kMiB, 5) == 65536);
}

TEST_CASE("pages by node are counted in the mappings that hold the memory, each mapping once") {
  CHECK(pages_in_numa_maps(kMaps, {memory_at(0x7f0000000000)}) == Counts{{0, 4}, {1, 16}});
  CHECK(pages_in_numa_maps(kMaps, {memory_at(0x7f0000001000), memory_at(0x7f0000002000)}) ==
        Counts{{0, 4}, {1, 16}});
  CHECK(pages_in_numa_maps(kMaps, {memory_at(0x7f0000200000)}) == Counts{{12, 2}});
}

TEST_CASE(
    "nodes are looked up for some thousand pages all over the memory, and pages that are missing do not "
    "count") {
  static std::size_t asked = 0;
  const HostCalls calls{nullptr, nullptr, [](void* const*, std::size_t count, int* nodes) {
                          asked = count;
                          for (std::size_t i = 0; i < count; ++i) nodes[i] = i % 2 == 0 ? 3 : -2;
                          return 0;
                        }};
  CHECK(pages_of_nodes(calls, {memory_at(0x7f0000000000), memory_at(0x7f0000200000)}) == Counts{{3, 1}});
  CHECK(asked == 2);
  pages_of_nodes(calls, {{reinterpret_cast<std::byte*>(0x7f0000000000), kGiB}});
  CHECK(asked == 4096);
}

TEST_CASE("no pages by node are reported if an emulated machine hides them") {
  const HostCalls calls{nullptr, nullptr, [](void* const*, std::size_t, int*) { return EPERM; }};
  CHECK(pages_of_nodes(calls, {memory_at(0x7f0000000000)}).empty());
}

TEST_CASE("memory that is in no mapping, and an empty text, give no pages") {
  CHECK(pages_in_numa_maps(kMaps, {memory_at(0x1000)}).empty());
  CHECK(pages_in_numa_maps("", {memory_at(0x7f0000000000)}).empty());
}

}  // namespace pinbench::test::engine_pages
