// Requests that cannot be served are refused before anything is touched.
#include "engine_session.hpp"

namespace pinbench::test::engine_request {
namespace {

const MeasureRequest kGood = request_for(Direction::kHostToDevice, CopyMemory::kPinned, 4 * kKiB, 2);

std::string refusal_of(TestSession& session, const MeasureRequest& request) {
  return code_from([&] { session.measure(request); });
}

// The good request with one member changed.
template <class Value>
MeasureRequest with(Value MeasureRequest::*member, Value value) {
  auto request = kGood;
  request.*member = value;
  return request;
}

}  // namespace

TEST_CASE("a request without anything to do is invalid") {
  TestSession session;
  session.reserve(CopyMemory::kPinned, geometry_of(2, 1, 64 * kKiB));
  for (const auto member : {&MeasureRequest::size_bytes, &MeasureRequest::workers, &MeasureRequest::buffers,
                            &MeasureRequest::warmup_copies, &MeasureRequest::warmup_bytes,
                            &MeasureRequest::copies_per_sample, &MeasureRequest::samples}) {
    CHECK(refusal_of(session, with(member, std::size_t{0})) == "INVALID_REQUEST");
  }
  check_clean(session.measure(kGood), 12 * 4 * kKiB);
}

TEST_CASE("device memory and copies within the device go together") {
  TestSession session;
  session.reserve_device(geometry_of(2, 1, 64 * kKiB), true);
  CHECK(refusal_of(session, with(&MeasureRequest::memory, CopyMemory::kDevice)) == "INVALID_REQUEST");
  CHECK(refusal_of(session, with(&MeasureRequest::direction, Direction::kDeviceToDevice)) ==
        "INVALID_REQUEST");
}

TEST_CASE("a latency sample is one copy") {
  TestSession session;
  session.reserve(CopyMemory::kPinned, geometry_of(2, 1, 64 * kKiB));
  auto request = with(&MeasureRequest::latency, true);
  CHECK(refusal_of(session, request) == "INVALID_REQUEST");
  request.copies_per_sample = 1;
  CHECK_NOTHROW(session.measure(request));
}

TEST_CASE("a request is refused if its memory is not reserved or too small") {
  TestSession session;
  CHECK(refusal_of(session, kGood) == "NOT_RESERVED");
  session.reserve_device(geometry_of(2, 1, 64 * kKiB), false);
  CHECK(refusal_of(session, kGood) == "NOT_RESERVED");
  session.reserve_host(HostMemoryKind::kPageable, geometry_of(2, 1, 64 * kKiB));
  CHECK(refusal_of(session, kGood) == "NOT_RESERVED");
  session.reserve_host(HostMemoryKind::kPinned, geometry_of(2, 1, 64 * kKiB));
  CHECK_NOTHROW(session.measure(kGood));

  CHECK(refusal_of(session, with(&MeasureRequest::workers, std::size_t{3})) == "NOT_RESERVED");
  CHECK(refusal_of(session, with(&MeasureRequest::buffers, std::size_t{17})) == "NOT_RESERVED");
  CHECK(refusal_of(session, with(&MeasureRequest::size_bytes, 64 * kKiB + 1)) == "NOT_RESERVED");
  CHECK(refusal_of(session, with(&MeasureRequest::direction, Direction::kBidirectional)) == "NOT_RESERVED");
}

TEST_CASE("each worker needs memory of its own, however much the others have") {
  TestSession session;
  for (const auto& chunks : {std::vector<std::size_t>{2, 1}, std::vector<std::size_t>{1, 2}}) {
    session.reserve(CopyMemory::kPinned, {chunks, 64 * kKiB});
    CHECK(refusal_of(session, with(&MeasureRequest::buffers, std::size_t{17})) == "NOT_RESERVED");
    CHECK_NOTHROW(session.measure(with(&MeasureRequest::buffers, std::size_t{16})));
  }
}

TEST_CASE("host and device memory with different chunk sizes are refused") {
  TestSession session;
  session.reserve_device(geometry_of(2, 1, 64 * kKiB), false);
  session.reserve_host(HostMemoryKind::kPinned, geometry_of(2, 1, 128 * kKiB));
  CHECK(refusal_of(session, kGood) == "NOT_RESERVED");
}

TEST_CASE("copies within the device need a destination, staged ones a ring for each worker") {
  TestSession session;
  session.reserve(CopyMemory::kPageable, geometry_of(4, 1, 64 * kKiB));
  auto request = request_for(Direction::kDeviceToDevice, CopyMemory::kDevice, 4 * kKiB);
  CHECK(refusal_of(session, request) == "NOT_RESERVED");

  request = request_for(Direction::kBidirectional, CopyMemory::kStaged, 4 * kKiB, 2);
  CHECK(refusal_of(session, request) == "NOT_RESERVED");
  session.reserve_staging(small_rings(3));
  CHECK(refusal_of(session, request) == "NOT_RESERVED");
  session.reserve_staging(small_rings(4));
  CHECK_NOTHROW(session.measure(request));
}

TEST_CASE("after a reservation that failed half-way nothing can be measured") {
  TestSession session(with_setting("MEMORY", "2MiB"));
  session.reserve(CopyMemory::kPinned, geometry_of(2, 1, 512 * kKiB));
  CHECK_NOTHROW(session.measure(kGood));
  CHECK(code_from([&] { session.reserve_device(geometry_of(2, 1, 512 * kKiB), true); }) ==
        "CUDA_ERROR_OUT_OF_MEMORY");
  CHECK(refusal_of(session, kGood) == "NOT_RESERVED");
}

}  // namespace pinbench::test::engine_request
