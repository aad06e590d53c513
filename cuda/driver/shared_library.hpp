#pragma once

#include <string>

namespace pinbench {

// A library opened at run time. It is never closed: unloading libcuda while its threads live crashes.
class SharedLibrary {
 public:
  // Throws Error LIBRARY_NOT_FOUND if there is no such file, or LIBRARY_UNUSABLE with the linker's reason if
  // the file does not load.
  explicit SharedLibrary(const std::string& path);

  // The address of a symbol, or null.
  void* symbol(const char* name) const;

  template <class FunctionPointer>
  FunctionPointer function(const char* name) const {
    return reinterpret_cast<FunctionPointer>(symbol(name));
  }

 private:
  void* handle_;
};

}  // namespace pinbench
