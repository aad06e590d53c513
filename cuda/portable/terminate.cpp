// Reports an exception that nothing catches, and ends the process. libstdc++'s own handler also demangles the
// name of the exception's type, which takes 57 KB of each library.
#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <typeinfo>

namespace __gnu_cxx {

void __verbose_terminate_handler() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  if (type == nullptr) {
    std::fputs("terminate called without an active exception\n", stderr);
    std::abort();
  }
  std::fprintf(stderr, "terminate called after throwing an instance of '%s'\n", type->name());
  try {
    throw;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "  what():  %s\n", error.what());
  } catch (...) {
    // Not a std::exception, so there is no message.
  }
  std::abort();
}

}  // namespace __gnu_cxx
