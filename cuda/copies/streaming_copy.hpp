#pragma once

#include <cstddef>

namespace pinbench {

// memcpy whose stores pass the caches by: a destination that nobody reads soon costs no read for ownership,
// and pushes nothing else out.
void streaming_copy(std::byte* destination, const std::byte* source, std::size_t bytes);

}  // namespace pinbench
