#pragma once

#include <exception>
#include <optional>
#include <source_location>
#include <string>

namespace pinbench {

// The error type of the engine; the addon turns it into a JavaScript error with the same fields
// (NativeError in src/native/contract.ts).
class Error : public std::exception {
 public:
  Error(std::string code, std::string message, std::source_location where = std::source_location::current());

  // A driver call that returned `result`. `sticky`: the context cannot be used any more.
  static Error from_cuda(std::string name, std::string description, int result, const char* call, bool sticky,
                         std::source_location where);

  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& code() const { return code_; }
  const std::string& location() const { return location_; }
  const std::optional<int>& cuda_result() const { return cuda_result_; }
  const std::string& call() const { return call_; }
  bool sticky() const { return sticky_; }

 private:
  std::string code_;
  std::string message_;
  std::string location_;  // "file.cpp:line"
  std::optional<int> cuda_result_;
  std::string call_;  // empty if no CUDA call failed
  bool sticky_ = false;
};

}  // namespace pinbench
