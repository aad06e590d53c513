// The symbols that the library exports.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

#include "driver/nvml_abi.hpp"
#include "emulated_library.hpp"

namespace pinbench::test::emulated_exports {
namespace {

template <class Entry>
std::vector<Entry> read_entries(std::ifstream& file, std::uint64_t offset, std::size_t count) {
  std::vector<Entry> entries(count);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(entries.data()), static_cast<std::streamsize>(count * sizeof(Entry)));
  REQUIRE(file.good());
  return entries;
}

// Names that the library defines in its dynamic symbol table.
std::set<std::string> defined_symbols(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto header = read_entries<Elf64_Ehdr>(file, 0, 1).front();
  const auto sections = read_entries<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
  const auto table = std::find_if(sections.begin(), sections.end(),
                                  [](const Elf64_Shdr& section) { return section.sh_type == SHT_DYNSYM; });
  REQUIRE(table != sections.end());
  const auto& strings = sections[table->sh_link];
  const auto text = read_entries<char>(file, strings.sh_offset, strings.sh_size);

  std::set<std::string> names;
  for (const auto& symbol :
       read_entries<Elf64_Sym>(file, table->sh_offset, table->sh_size / sizeof(Elf64_Sym))) {
    if (symbol.st_shndx != SHN_UNDEF) names.insert(text.data() + symbol.st_name);
  }
  return names;
}

}  // namespace

TEST_CASE("the emulated library exports only the driver API, NVML and its own three symbols") {
  std::set<std::string> expected = {PINBENCH_EMULATED_IMAGE_SYMBOL, PINBENCH_EMULATED_LACKS_SYMBOL,
                                    PINBENCH_EMULATED_HOST_CALLS_SYMBOL};
#define PINBENCH_NAME(member, symbol, parameters) expected.insert(symbol);
  PINBENCH_CU_REQUIRED_FUNCTIONS(PINBENCH_NAME)
  PINBENCH_CU_OPTIONAL_FUNCTIONS(PINBENCH_NAME)
  PINBENCH_NVML_FUNCTIONS(PINBENCH_NAME)
#undef PINBENCH_NAME
  CHECK(defined_symbols(PINBENCH_EMULATED_PATH) == expected);
}

TEST_CASE("errors have the names and descriptions of the real driver") {
  const EmulatedLibrary library;
  const char* text = nullptr;
  CHECK(library.getErrorName(cu::kErrorOutOfMemory, &text) == cu::kSuccess);
  CHECK(std::strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY") == 0);
  CHECK(library.getErrorString(cu::kErrorOutOfMemory, &text) == cu::kSuccess);
  CHECK(std::strcmp(text, "out of memory") == 0);

  CHECK(library.getErrorName(98765, &text) == cu::kErrorInvalidValue);
  CHECK(text == nullptr);
}

}  // namespace pinbench::test::emulated_exports
