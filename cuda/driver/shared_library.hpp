#pragma once

#include <dlfcn.h>

#include <string>

#include "driver/error.hpp"

namespace pinbench {

// A library opened at run time. It is never closed: unloading libcuda while its threads live crashes.
class SharedLibrary {
 public:
  // Throws Error LIBRARY_NOT_FOUND if there is no such file, or LIBRARY_UNUSABLE with the linker's reason if
  // the file does not load.
  explicit SharedLibrary(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ != nullptr) return;
    const char* text = dlerror();
    const std::string reason = text != nullptr ? text : "unknown";
    // Only the linker's message shows whether the file is missing or unusable.
    const bool is_absent = reason.starts_with(path + ": cannot open shared object file: No such file");
    throw Error(is_absent ? "LIBRARY_NOT_FOUND" : "LIBRARY_UNUSABLE", "cannot load " + path + ": " + reason);
  }

  // Null if the library lacks the function.
  template <class FunctionPointer>
  FunctionPointer function(const char* name) const {
    return reinterpret_cast<FunctionPointer>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

}  // namespace pinbench
