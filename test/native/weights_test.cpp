// Memory of files, and loading weights: every method's bytes arrive, and refused or changed files are errors.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "engine_session.hpp"
#include "memory/pattern.hpp"
#include "weights/weights_load.hpp"

namespace pinbench::test::weights {
namespace {

constexpr WeightsWay kWays[] = {WeightsWay::kMapped,    WeightsWay::kRegistered,  WeightsWay::kMappedSlots,
                                WeightsWay::kReadSlots, WeightsWay::kDirectSlots, WeightsWay::kStorage};

// A file whose length is no multiple of any block; removed by the destructor.
class TestFile {
 public:
  explicit TestFile(std::size_t bytes) {
    const int descriptor = mkstemp(path_.data());
    REQUIRE(descriptor >= 0);
    std::vector<std::byte> content(bytes);
    fill_pattern(content, 7);
    REQUIRE(write(descriptor, content.data(), bytes) == static_cast<ssize_t>(bytes));
    fsync(descriptor);
    close(descriptor);
  }
  ~TestFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = std::filesystem::temp_directory_path() / "pinbench-weights-XXXXXX";
};

// A piece at an odd offset, one that is larger than a slot, and one that ends with the file.
constexpr std::size_t kBytes = 36 * kMiB + 12345;
const std::vector<WeightsPiece> kPieces = {
    {0, 8 + 75, 4097}, {0, 5000, 17 * kMiB + 3}, {0, kBytes - 1000, 1000}};
constexpr std::size_t kPiecesBytes = 4097 + 17 * kMiB + 3 + 1000;

WeightsRequest request_of(const TestFile& file, WeightsWay way, std::size_t threads = 2) {
  return {{file.path()}, kPieces, way, threads};
}

// A temporary folder in memory has no O_DIRECT.
bool is_refused_here(const TestFile& file, WeightsWay way) {
  if (way != WeightsWay::kDirectSlots && way != WeightsWay::kStorage) return false;
  const int descriptor = open(file.path().c_str(), O_RDONLY | O_DIRECT);
  if (descriptor < 0) return true;
  close(descriptor);
  return false;
}

}  // namespace

TEST_CASE("every method of loading weights that copies brings all bytes, and compares them with the file") {
  TestSession session;
  const TestFile file(kBytes);
  for (const auto way : kWays) {
    if (is_refused_here(file, way)) continue;
    for (const std::size_t threads : {1, 3}) {
      CAPTURE(static_cast<int>(way));
      const auto pass = session.load_weights(request_of(file, way, threads));
      CHECK(pass.mismatched_bytes == 0);
      CHECK(pass.checked_bytes == (way == WeightsWay::kStorage ? 0 : kPiecesBytes));
      CHECK(pass.copy_ns > 0);
    }
  }
}

TEST_CASE("a lost or wrong copy of weights is found with every method that copies") {
  const TestFile file(kBytes);
  for (const auto way : kWays) {
    if (way == WeightsWay::kStorage || is_refused_here(file, way)) continue;
    for (const std::string what : {"drop", "flip"}) {
      CAPTURE(static_cast<int>(way));
      CAPTURE(what);
      TestSession session(with_wrong_copy("h2d", what, 2));
      CHECK(session.load_weights(request_of(file, way, 1)).mismatched_bytes > 0);
    }
  }
}

TEST_CASE("weights are registered for reading only, and a refusal is the driver's error") {
  std::vector<unsigned> flags;
  const auto driver = emulated_driver();
  watch_calls<&CudaDriver::memHostRegister>(
      *driver, [&](void*, std::size_t, unsigned asked) { flags.push_back(asked); });
  const TestFile file(kBytes);
  {
    TestSession session(driver);
    session.load_weights(request_of(file, WeightsWay::kRegistered));
  }
  // The slots are registered before the file.
  CHECK(flags == std::vector<unsigned>{cu::kHostRegisterPortable | cu::kHostRegisterDeviceMap,
                                       cu::kHostRegisterPortable | cu::kHostRegisterReadOnly});
  TestSession refusing(with_faults(failing_call("cuMemHostRegister_v2", 2, cu::kErrorNotSupported)));
  CHECK(code_from([&] { refusing.load_weights(request_of(file, WeightsWay::kRegistered)); }) ==
        "CUDA_ERROR_NOT_SUPPORTED");
  CHECK(refusing.load_weights(request_of(file, WeightsWay::kMapped)).mismatched_bytes == 0);
}

TEST_CASE("a file of weights that ends before its last piece is an error") {
  TestSession session;
  const TestFile file(kBytes);
  std::filesystem::resize_file(file.path(), kBytes - 1);
  for (const auto way : {WeightsWay::kReadSlots, WeightsWay::kDirectSlots, WeightsWay::kStorage}) {
    if (is_refused_here(file, way)) continue;
    CHECK(code_from([&] { session.load_weights(request_of(file, way)); }) == "FILE_CHANGED");
  }
}

TEST_CASE("a path that is no regular file, or cannot be opened, is refused") {
  TestSession session;
  for (const std::string path : {"/", "/dev/null", "/nowhere"}) {
    const WeightsRequest request{{path}, {{0, 0, 1}}, WeightsWay::kReadSlots, 1};
    CHECK(code_from([&] { session.load_weights(request); }) == "FILE_UNREADABLE");
  }
}

TEST_CASE("invalid requests to load weights are refused") {
  TestSession session;
  const TestFile file(100);
  const auto code_of = [&](const std::vector<WeightsPiece>& pieces, std::size_t threads) {
    const WeightsRequest request{{file.path()}, pieces, WeightsWay::kMapped, threads};
    return code_from([&] { session.load_weights(request); });
  };
  CHECK(code_of({}, 1) == "INVALID_REQUEST");
  CHECK(code_of({{0, 0, 0}}, 1) == "INVALID_REQUEST");
  CHECK(code_of({{1, 0, 1}}, 1) == "INVALID_REQUEST");
  CHECK(code_of({{0, 0, ~std::size_t{0}}}, 1) == "INVALID_REQUEST");
  CHECK(code_of({{0, ~std::size_t{0}, 1}}, 1) == "INVALID_REQUEST");
  CHECK(code_of({{0, 0, 1}}, 0) == "INVALID_REQUEST");
  CHECK(code_of({{0, 0, 1}}, 1000) == "INVALID_REQUEST");
}

TEST_CASE("an abort ends a pass over weights") {
  TestSession session;
  const TestFile file(kBytes);
  session.abort();
  CHECK(code_from([&] { session.load_weights(request_of(file, WeightsWay::kMapped)); }) == "ABORTED");
}

TEST_CASE("memory of a file is read-only, shows what its writable mapping has, and needs a folder") {
  DeviceContext context(emulated_driver(), 0, session_options().placement);
  const std::string folder = std::filesystem::temp_directory_path();
  for (const auto kind : {HostMemoryKind::kFile, HostMemoryKind::kFileRegistered}) {
    std::optional<HostBlock> block = HostBlock::allocate(context, kind, 4 * kKiB, folder);
    block->writable()[5] = std::byte{9};
    CHECK(block->bytes()[5] == std::byte{9});
    CHECK(block->bytes().data() != block->writable().data());
    context.on_device_thread([&] { block.reset(); });
    CHECK(code_from([&] { HostBlock::allocate(context, kind, 4 * kKiB, "/nowhere"); }) == "FILE_NOT_MADE");
    CHECK(code_from([&] { HostBlock::allocate(context, kind, 4 * kKiB); }) == "INVALID_REQUEST");
  }
}

TEST_CASE("a read-only mapping cannot be registered for writing") {
  const auto driver = emulated_driver();
  DeviceContext context(driver, 0, session_options().placement);
  std::optional<HostBlock> block =
      HostBlock::allocate(context, HostMemoryKind::kFile, 4 * kKiB, std::filesystem::temp_directory_path());
  void* const data = block->bytes().data();
  context.on_device_thread([&] {
    CHECK(driver->memHostRegister(data, 4 * kKiB, 0).result == cu::kErrorInvalidValue);
    CHECK(driver->memHostRegister(data, 4 * kKiB, cu::kHostRegisterReadOnly).result == cu::kSuccess);
    CHECK(driver->memHostUnregister(data).result == cu::kSuccess);
    block.reset();
  });
}

TEST_CASE("copies from a file's memory are right, and a wrong one is found in both ways of comparing") {
  for (const auto memory : {CopyMemory::kFile, CopyMemory::kFileRegistered}) {
    for (const auto verify : {Verify::kLastCopies, Verify::kEveryCopy}) {
      auto request = request_for(Direction::kHostToDevice, memory, 64 * kKiB, 2);
      request.verify = verify;
      TestSession session;
      session.reserve(memory, geometry_of(2, 1, kMiB));
      for (int i = 0; i < 2; ++i) {
        const auto result = session.measure(request);
        CHECK(result.mismatches.empty());
        CHECK(result.checked_bytes > 0);
      }
      TestSession faulty(with_wrong_copy("h2d", "flip", 9));
      faulty.reserve(memory, geometry_of(2, 1, kMiB));
      CHECK_FALSE(faulty.measure(request).mismatches.empty());
    }
  }
}

TEST_CASE("a mapped file is only copied to the device") {
  TestSession session;
  for (const auto memory : {CopyMemory::kFile, CopyMemory::kFileRegistered}) {
    session.reserve(memory, geometry_of(1, 1, kMiB));
    for (const auto direction : {Direction::kDeviceToHost, Direction::kBidirectional})
      CHECK(code_from([&] { session.measure(request_for(direction, memory, 64 * kKiB)); }) ==
            "INVALID_REQUEST");
  }
}

}  // namespace pinbench::test::weights
