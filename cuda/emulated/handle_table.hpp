#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace pinbench::emulated {

// A value that no handle has had before in this process. Handles are numbers, not addresses: so a stale or
// invented one is told from a live one without touching memory.
inline std::uintptr_t next_handle_value() {
  static std::atomic<std::uintptr_t> next{0x1000};
  return next.fetch_add(0x10, std::memory_order_relaxed);
}

// Which object a handle stands for. A caller keeps the object alive while it uses it, whoever destroys the
// handle.
template <class Handle, class Object>
class HandleTable {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const auto handle = reinterpret_cast<Handle>(next_handle_value());
    const std::scoped_lock lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }

  // Null where the handle stands for nothing.
  std::shared_ptr<Object> find(Handle handle) const {
    const std::scoped_lock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }

  std::shared_ptr<Object> remove(Handle handle) {
    const std::scoped_lock lock(mutex_);
    auto node = objects_.extract(handle);
    return node.empty() ? nullptr : std::move(node.mapped());
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<Handle, std::shared_ptr<Object>> objects_;
};

}  // namespace pinbench::emulated
