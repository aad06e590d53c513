#pragma once

#include <cstddef>

namespace pinbench {

// memcpy with stores that bypass the caches: the destination costs no read for ownership, and evicts nothing
// from the caches.
void streaming_copy(std::byte* destination, const std::byte* source, std::size_t bytes);

}  // namespace pinbench
