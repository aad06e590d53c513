#include "driver/shared_library.hpp"

#include <dlfcn.h>

#include <string>

#include "driver/error.hpp"

namespace pinbench {

SharedLibrary::SharedLibrary(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    const char* text = dlerror();
    const std::string reason = text != nullptr ? text : "unknown";
    // The linker's only sign that the file does not exist, rather than exists and is unusable.
    const bool is_absent = reason.starts_with(path + ": cannot open shared object file: No such file");
    throw Error(is_absent ? "LIBRARY_NOT_FOUND" : "LIBRARY_UNUSABLE", "cannot load " + path + ": " + reason);
  }
}

void* SharedLibrary::symbol(const char* name) const {
  return dlsym(handle_, name);
}

}  // namespace pinbench
