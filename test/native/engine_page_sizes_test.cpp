// Alignment and pieces by the sizes of the system's pages.
#include <doctest/doctest.h>
#include <unistd.h>

#include "engine/page_sizes.hpp"

namespace pinbench::test::engine_page_sizes {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGiB = std::size_t{1} << 30;

constexpr PageSizes kX86{4096, 2 * kMiB};
constexpr PageSizes kGrace{65536, 512 * kMiB};  // as its kernels have them by default

}  // namespace

TEST_CASE("the size of a page is the system's") {
  CHECK(page_sizes().page == static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

TEST_CASE("memory is aligned to huge pages, and where it is smaller than one of 512 MiB, to 2 MiB") {
  CHECK(kX86.alignment(1) == 2 * kMiB);
  CHECK(kX86.alignment(kGiB) == 2 * kMiB);
  CHECK(kGrace.alignment(512 * kMiB) == 512 * kMiB);
  CHECK(kGrace.alignment(512 * kMiB - 1) == 2 * kMiB);
}

TEST_CASE("pieces are whole huge pages, if each can have one, else as large as there are enough of") {
  CHECK(kX86.unit_of_pieces(8 * kMiB, 4) == 2 * kMiB);
  CHECK(kX86.unit_of_pieces(8 * kMiB, 5) == 4096);
  CHECK(kGrace.unit_of_pieces(16 * kGiB, 32) == 512 * kMiB);
  CHECK(kGrace.unit_of_pieces(16 * kGiB, 33) == 2 * kMiB);
  CHECK(kGrace.unit_of_pieces(8 * kMiB, 5) == 65536);
}

}  // namespace pinbench::test::engine_page_sizes
