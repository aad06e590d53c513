// Holding streams until all is enqueued, and what ends a hold that would last for ever.
#include <atomic>

#include "engine/stream_hold.hpp"
#include "engine_session.hpp"

namespace pinbench::test::engine_hold {
namespace {

// A context with a hold and a stream of its own, used on the device thread.
class HeldStream {
 public:
  HeldStream() : context_(emulated_driver(), 0, session_options().placement), hold_(std::in_place, context_) {
    const auto& cuda = context_.cuda();
    context_.on_device_thread([&] { cuda.check(cuda.streamCreate(&stream_, cu::kStreamNonBlocking)); });
  }
  ~HeldStream() {
    context_.on_device_thread([this] {
      context_.cuda().streamDestroy(stream_);
      hold_.reset();
    });
  }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

  StreamHold& hold() { return *hold_; }

  void hold_for(std::uint32_t sample) {
    context_.on_device_thread([&] { hold_->hold(stream_, sample); });
  }
  bool is_waiting() {
    cu::Result result = cu::kSuccess;
    context_.on_device_thread([&] { result = context_.cuda().streamQuery(stream_).result; });
    REQUIRE((result == cu::kSuccess || result == cu::kErrorNotReady));
    return result == cu::kErrorNotReady;
  }
  // Returns once the stream has been let go.
  void wait() {
    context_.on_device_thread([&] { context_.cuda().check(context_.cuda().streamSynchronize(stream_)); });
  }

 private:
  DeviceContext context_;
  std::optional<StreamHold> hold_;
  cu::Stream stream_ = nullptr;
};

}  // namespace

TEST_CASE("a stream waits for its own sample, or a later one") {
  HeldStream stream;
  stream.hold_for(1);
  CHECK(stream.is_waiting());
  stream.hold().release(1);
  stream.wait();
  stream.hold_for(3);
  stream.hold().release(2);
  CHECK(stream.is_waiting());
  stream.hold().release(4);
  stream.wait();
}

TEST_CASE("releasing all lets go what is held now and what will be, until the next reset") {
  HeldStream stream;
  stream.hold_for(7);
  CHECK(stream.is_waiting());
  stream.hold().release_all();
  stream.wait();
  stream.hold_for(1'000'000);
  stream.wait();
  stream.hold().reset();
  stream.hold_for(1);
  CHECK(stream.is_waiting());
  stream.hold().release_all();
  stream.wait();
}

TEST_CASE("as many copies as a held stream may have fit in its queue") {
  TestSession session;
  session.reserve(CopyMemory::kPinned, geometry_of(4, 1, 64 * kKiB));
  for (const auto direction : {Direction::kHostToDevice, Direction::kBidirectional}) {
    auto request = request_for(direction, CopyMemory::kPinned, 4 * kKiB, 2);
    request.event_timer = true;
    request.copies_per_sample = kMaxHeldCopies;
    check_clean(session.measure(request), request.threads() * request.buffers * 4 * kKiB);
  }
}

// Takes longer than the two seconds after which a hold is given up.
TEST_CASE("a sample that takes long once its stream was let go is no hold that hangs") {
  TestSession session(with_setting("LINK", "2000"));
  session.reserve(CopyMemory::kPinned, geometry_of(1, 1, 64 * kKiB));
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, kKiB);
  request.event_timer = true;
  request.warmup_bytes = 16;
  request.buffers = request.samples = 1;
  request.copies_per_sample = 5;
  const auto result = session.measure(request);
  check_clean(result, kKiB);
  CHECK(result.columns.at(0).duration_ns.at(0) >= 2.5e9);
}

// Takes the two seconds after which a hold is given up.
TEST_CASE("a held stream whose queue fills up is let go with an error of its own") {
  TestSession session(with_setting("QUEUE", "6"));
  session.reserve(CopyMemory::kPinned, geometry_of(3, 1, 64 * kKiB));
  auto request = request_for(Direction::kDeviceToHost, CopyMemory::kPinned, 4 * kKiB, 3);
  request.event_timer = true;
  request.copies_per_sample = 20;
  const auto error = error_of([&] { session.measure(request); });
  CHECK(error.code() == "EVENT_HOLD_TIMEOUT");
  CHECK_FALSE(error.sticky());
  request.copies_per_sample = 3;
  check_clean(session.measure(request), 3 * 6 * 4 * kKiB);
}

}  // namespace pinbench::test::engine_hold
