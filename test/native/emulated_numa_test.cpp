// A machine of several NUMA nodes: where memory lies, and what its copies take. Times are compared with the
// link's minimum, which a slow machine does not shorten.
#include <chrono>

#include "engine_session.hpp"

namespace pinbench::test::emulated_numa {
namespace {

constexpr std::size_t kBytes = 256 * kKiB;

// 4 GB/s with the memory of node 0, 0.02 with that of node 1: 13 ms for a copy.
Environment two_nodes(const std::string& more = "") {
  return with_setting("NUMA", "node:cpus=0; node:cpus=1; device:GBps=4,0.02" + more);
}

std::map<int, std::size_t> nodes_of_memory(const Environment& environment, HostMemoryKind kind,
                                           std::optional<int> node, int cpu = 0) {
  SessionOptions options = session_options();
  options.placement.cpus = {cpu};
  options.placement.numa_node = node;
  options.reports_nodes = true;
  Session session(emulated_driver(environment), nullptr, options);
  return session.reserve_host(kind, geometry_of(1, 1, kBytes)).pages_of_node;
}

double seconds_of_copy(const Environment& environment, int node) {
  SessionOptions options = session_options();
  options.placement.numa_node = node;
  Session session(emulated_driver(environment), nullptr, options);
  const auto geometry = geometry_of(1, 1, kBytes);
  session.reserve_host(HostMemoryKind::kPinned, geometry);
  session.reserve_device(geometry, false);
  MeasureRequest request;
  request.memory = CopyMemory::kPinned;
  request.size_bytes = kBytes;
  request.workers = 1;
  request.warmup_bytes = 512;
  request.buffers = 1;
  request.copies_per_sample = 1;
  request.samples = 1;
  return measure(session, request).columns[0].duration_ns[0] / 1e9;
}

}  // namespace

TEST_CASE("memory is on the node that its session prefers, and copies take as long as that node's link") {
  for (const int node : {0, 1}) {
    CAPTURE(node);
    const std::map<int, std::size_t> expected{{node, kBytes / 4096}};
    CHECK(nodes_of_memory(two_nodes(), HostMemoryKind::kPinned, node) == expected);
  }
  CHECK(nodes_of_memory(two_nodes(), HostMemoryKind::kPageable, 1).count(1) == 1);
  // Without a preferred node, memory is on the node of the CPUs.
  for (const int cpu : {0, 1})
    CHECK(nodes_of_memory(two_nodes(), HostMemoryKind::kPinned, std::nullopt, cpu).count(cpu) == 1);
  CHECK(seconds_of_copy(two_nodes(), 1) >= kBytes / 0.02e9 * 0.999);
}

TEST_CASE("pinned memory is copied at the rate of its own node, whichever thread copies it") {
  const auto driver = emulated_driver(two_nodes());
  cu::Context handle = nullptr;
  const auto context = retain_primary_context(*driver, 0, handle);
  driver->check(driver->contextSetCurrent(handle));
  REQUIRE(driver->host_calls().prefer_node(1) == 0);
  const auto host = allocate_pinned_memory(*driver, kBytes, 0);
  const auto device = allocate_device_memory(*driver, kBytes);
  const auto stream = create_stream(*driver);
  REQUIRE(driver->host_calls().prefer_node(0) == 0);
  const auto begin = std::chrono::steady_clock::now();
  driver->check(driver->memcpyHtoDAsync(device.get(), host.get(), kBytes, stream.get()));
  driver->check(driver->streamSynchronize(stream.get()));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  CHECK(seconds.count() >= kBytes / 0.02e9 * 0.999);
}

TEST_CASE("a session looks up the nodes of its pages only if it reports them") {
  SessionOptions options = session_options();
  options.placement.numa_node = 1;
  Session session(emulated_driver(two_nodes()), nullptr, options);
  CHECK(session.reserve_host(HostMemoryKind::kPinned, geometry_of(1, 1, kBytes)).pages_of_node.empty());
}

TEST_CASE("memory requested on a full node comes from another node") {
  const Environment environment = with_setting("NUMA", "node; node:full; device:GBps=1,1");
  SessionOptions options = session_options();
  options.placement.numa_node = 1;
  options.reports_nodes = true;
  Session session(emulated_driver(environment), nullptr, options);
  CHECK(session.reserve_host(HostMemoryKind::kPinned, geometry_of(1, 1, kBytes)).pages_of_node.count(0) == 1);
}

TEST_CASE("preferring a node fails if the machine refuses it") {
  CHECK_THROWS_WITH_AS(nodes_of_memory(two_nodes("; refuse"), HostMemoryKind::kPinned, 1),
                       "memory of NUMA node 1 cannot be preferred: Operation not permitted", Error);
}

TEST_CASE("invalid nodes are refused, with the reason") {
  const auto complaint = [](const std::string& text) {
    return EmulatedLibrary().complaint(with_setting("NUMA", text));
  };
  CHECK(complaint("refuse").ends_with("it must have 1 to 1024 nodes"));
  CHECK(complaint("node").ends_with("it must have a 'device' for each device"));
  CHECK(complaint("node; device:GBps=1,2").ends_with("each 'device' must have a rate for each node"));
  CHECK(complaint("node; device:GBps=0").ends_with("item 2: 'GBps' must be a number from 0 to 1000000"));
  CHECK(complaint("node:cpus=8192").ends_with("item 1: 'cpus' must be a number from 0 to 8191"));
}

}  // namespace pinbench::test::emulated_numa
