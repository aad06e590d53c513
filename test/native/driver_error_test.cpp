// How a failed driver call becomes a typed error.
#include "engine_session.hpp"

namespace pinbench::test::driver_error {

TEST_CASE("an error without a CUDA call has a code, a sentence and its source location") {
  const Error error("NOT_RESERVED", "the memory was not reserved");
  const std::string location = "driver_error_test.cpp:" + std::to_string(__LINE__ - 1);
  CHECK(error.code() == "NOT_RESERVED");
  CHECK(std::string(error.what()) == "the memory was not reserved");
  CHECK(error.location() == location);
  CHECK_FALSE(error.cuda_result().has_value());
  CHECK(error.call().empty());
  CHECK_FALSE(error.sticky());
}

TEST_CASE("the error of a failed call has the call, its result and the location of the check") {
  const auto driver = emulated_driver();
  cu::Device device = 0;
  const int line = __LINE__ + 1;
  const auto error = error_of([&] { driver->check(driver->deviceGet(&device, 99)); });
  CHECK(error.code() == "CUDA_ERROR_INVALID_DEVICE");
  CHECK(error.cuda_result() == cu::kErrorInvalidDevice);
  CHECK(error.call() == "cuDeviceGet");
  CHECK(error.location() == "driver_error_test.cpp:" + std::to_string(line));
  CHECK(std::string(error.what()).starts_with("cuDeviceGet failed with CUDA_ERROR_INVALID_DEVICE ("));
  CHECK_FALSE(error.sticky());
}

TEST_CASE("a call that succeeds is no error") {
  const auto driver = emulated_driver();
  CHECK_NOTHROW(driver->check({cu::kSuccess, "cuInit"}));
}

TEST_CASE("an error with an unknown result has the result's number") {
  const auto driver = emulated_driver();
  const auto error = error_of([&] { driver->check({12345, "cuInit"}); });
  CHECK(error.code() == "CUDA_ERROR_12345");
  CHECK(error.cuda_result() == 12345);
  CHECK(std::string(error.what()) == "cuInit failed with CUDA_ERROR_12345 (unknown error)");
}

TEST_CASE("only errors that end the context are sticky") {
  const auto driver = emulated_driver();
  const auto is_sticky = [&](cu::Result result) {
    return error_of([&] { driver->check({result, "cuCtxSynchronize"}); }).sticky();
  };
  for (const cu::Result lost : {214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719}) {
    CAPTURE(lost);
    CHECK(is_sticky(lost));
  }
  for (const cu::Result kept : {1, 2, 3, 100, 101, 201, 400, 500, 600, 712, 713, 801}) {
    CAPTURE(kept);
    CHECK_FALSE(is_sticky(kept));
  }
}

}  // namespace pinbench::test::driver_error
