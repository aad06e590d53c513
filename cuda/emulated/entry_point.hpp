#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

#include "driver/cuda_abi.hpp"

namespace pinbench::emulated {

// The exported functions by number, in the order of cuda_abi.hpp's lists.
enum class EntryPoint : std::size_t {
#define PINBENCH_ENUMERATE(member, symbol, parameters) member,
  PINBENCH_CU_REQUIRED_FUNCTIONS(PINBENCH_ENUMERATE) PINBENCH_CU_OPTIONAL_FUNCTIONS(PINBENCH_ENUMERATE)
#undef PINBENCH_ENUMERATE
};

inline constexpr std::string_view kEntryPointSymbols[] = {
#define PINBENCH_NAME(member, symbol, parameters) symbol,
    PINBENCH_CU_REQUIRED_FUNCTIONS(PINBENCH_NAME) PINBENCH_CU_OPTIONAL_FUNCTIONS(PINBENCH_NAME)
#undef PINBENCH_NAME
};

inline constexpr std::size_t kEntryPointCount = std::size(kEntryPointSymbols);

}  // namespace pinbench::emulated
