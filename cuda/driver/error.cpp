#include "driver/error.hpp"

#include <string_view>

namespace pinbench {
namespace {

std::string format_location(const std::source_location& where) {
  const std::string_view path = where.file_name();
  const auto slash = path.rfind('/');
  const auto file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return std::string(file) + ":" + std::to_string(where.line());
}

}  // namespace

Error::Error(std::string code, std::string message, std::source_location where)
    : code_(std::move(code)), message_(std::move(message)), location_(format_location(where)) {}

Error Error::from_cuda(std::string name, std::string description, int result, const char* call, bool sticky,
                       std::source_location where) {
  Error error(name, std::string(call) + " failed with " + name + " (" + description + ")", where);
  error.cuda_result_ = result;
  error.call_ = call;
  error.sticky_ = sticky;
  return error;
}

}  // namespace pinbench
