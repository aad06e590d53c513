// The samples of a loader's batches.
#include <algorithm>
#include <atomic>
#include <set>

#include "loader_helpers.hpp"

namespace pinbench::test::loader_sample {
namespace {

TEST_CASE("every round reads each file once, in a new order that the seed decides") {
  for (const std::size_t count : {1ul, 2ul, 5ul, 16ul, 1000ul}) {
    for (const std::uint64_t round : {0ul, 1ul, 7ul}) {
      std::set<std::size_t> seen;
      for (std::uint64_t n = round * count; n < (round + 1) * count; ++n)
        seen.insert(file_of_sample(n, count, 42));
      CHECK(seen.size() == count);
      CHECK(*seen.rbegin() == count - 1);
    }
  }
  const auto first = [](std::uint64_t seed, std::uint64_t from) {
    std::vector<std::size_t> numbers;
    for (std::uint64_t n = from; n < from + 20; ++n) numbers.push_back(file_of_sample(n, 1000, seed));
    return numbers;
  };
  CHECK(first(42, 0) != first(42, 1000));
  CHECK(first(42, 0) != first(43, 0));
}

TEST_CASE("a batch holds its samples: the files' bytes repeated and cut, or changing bytes without files") {
  const Folder folder;
  auto options = loader_options(1);
  options.sample_bytes = 10;
  options.files = {folder.add("a", "abc")};
  const std::optional<CpuBurner> no_burner;
  const std::atomic<bool> stop{false};
  std::vector<std::byte> memory(options.batch_bytes());
  SampleRecipe recipe{options, no_burner, 1};
  SampleMaker maker(recipe, stop);
  int between = 0;
  REQUIRE(maker.make_batch(0, memory, [&] { ++between; }));
  CHECK(between == 4);
  const std::string text(reinterpret_cast<const char*>(memory.data()), memory.size());
  CHECK(text == "abcabcabcaabcabcabcaabcabcabcaabcabcabca");

  options.files = {folder.add("b", "a file longer than a sample")};
  SampleMaker cutting(recipe, stop);
  REQUIRE(cutting.make_batch(0, memory, nullptr));
  CHECK(std::equal(memory.begin(), memory.begin() + 10, memory.begin() + 10));
  CHECK(static_cast<char>(memory[9]) == 'n');

  options.files.clear();
  SampleRecipe generated{options, no_burner, 1};
  SampleMaker generating(generated, stop);
  REQUIRE(generating.make_batch(0, memory, nullptr));
  CHECK_FALSE(std::equal(memory.begin(), memory.begin() + 10, memory.begin() + 10));
  const auto before = memory;
  REQUIRE(generating.make_batch(1, memory, nullptr));
  CHECK(memory != before);
  SampleRecipe of_another_seed{options, no_burner, 2};
  REQUIRE(SampleMaker(of_another_seed, stop).make_batch(0, memory, nullptr));
  CHECK(memory != before);
}

TEST_CASE("a loader continues where another one stopped: no sample twice, none left out") {
  const Folder folder;
  auto options = loader_options(1);
  options.batch_samples = 3;
  options.sample_bytes = 1;
  for (const char c : std::string("abcdefghij")) options.files.push_back(folder.add({c}, {c}));
  const std::optional<CpuBurner> no_burner;
  const std::atomic<bool> stop{false};
  const auto samples_of = [&](std::size_t batches) {
    SampleRecipe recipe{options, no_burner, 1};
    SampleMaker maker(recipe, stop);
    std::vector<std::byte> memory(options.batch_bytes());
    std::string content;
    for (std::size_t batch = 0; batch < batches; ++batch) {
      REQUIRE(maker.make_batch(batch, memory, nullptr));
      for (const auto byte : memory) content += static_cast<char>(byte);
    }
    CHECK(recipe.samples_begun == 3 * batches);
    options.first_sample += recipe.samples_begun;
    return content;
  };
  auto parts = samples_of(1);
  parts += samples_of(2);
  options.first_sample = 0;
  CHECK(parts == samples_of(3));
  options.first_sample = 0;
  parts = samples_of(3);
  parts += samples_of(1);
  std::sort(parts.begin(), parts.begin() + 10);
  CHECK(parts.substr(0, 10) == "abcdefghij");
  // Two loaders with a stride of 2 have all samples together.
  options.sample_stride = 2;
  options.first_sample = 0;
  parts = samples_of(2).substr(0, 5);
  options.first_sample = 1;
  parts += samples_of(2).substr(0, 5);
  std::sort(parts.begin(), parts.end());
  CHECK(parts == "abcdefghij");
}

TEST_CASE("a file that was read leaves the page cache on request") {
  const Folder folder;
  if (!folder.is_on_storage()) return;
  auto options = loader_options(1);
  options.files = {folder.add_written("a", std::string(100'000, 'a'))};
  const std::optional<CpuBurner> no_burner;
  const std::atomic<bool> stop{false};
  std::vector<std::byte> memory(options.batch_bytes());
  SampleRecipe recipe{options, no_burner, 1};
  SampleMaker maker(recipe, stop);
  REQUIRE(maker.make_batch(0, memory, nullptr));
  CHECK(is_cached(options.files[0]));
  options.drop_files = true;
  REQUIRE(maker.make_batch(1, memory, nullptr));
  CHECK_FALSE(is_cached(options.files[0]));
  // In the last batch, all samples but the first came from storage, in whole pages.
  CHECK(recipe.storage_bytes >= 3 * 100'000);
  CHECK(recipe.storage_bytes < 4 * 128 * 1024);
}

TEST_CASE("files are dropped from the page cache, also new ones; missing ones do no harm") {
  const Folder folder;
  const auto on_storage = folder.add_written("a", std::string(100'000, 'a'));
  const auto just_written = folder.path("b");
  std::ofstream(just_written) << std::string(100'000, 'b');
  drop_from_page_cache({folder.path("missing"), folder.path(""), on_storage, just_written});
  if (!folder.is_on_storage()) return;
  CHECK_FALSE(is_cached(on_storage));
  CHECK_FALSE(is_cached(just_written));
}

}  // namespace
}  // namespace pinbench::test::loader_sample
