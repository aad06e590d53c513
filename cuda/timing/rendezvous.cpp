// How cells that are measured together open and close their windows.
//
// A sample of several flows is valid only while all of them copy. So all threads of all flows, in any session
// or process, meet at a barrier and are released within a fraction of a microsecond: their windows open
// together. A flow's window closes with the last of its threads. Threads of a flow that is done copy on,
// untimed, until the windows of all flows are closed; then all meet at the barrier again.
//
//   flow 0   barrier | window          | copies on     | barrier
//   flow 1   barrier | window                          | barrier
//
// All state is a few counters in memory that processes can share: `arrived` counts threads at the barrier,
// the last of which raises `generation`, for which the others spin. `closed[f]` counts the threads of flow f
// that closed a window, over all samples: a sample's window is closed once it reaches threads times (sample +
// 1), so that no counter is reset between samples. A thread that fails cancels, which releases all threads.
#include "timing/rendezvous.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "context/vector.hpp"
#include "driver/error.hpp"

namespace pinbench {
namespace {

constexpr unsigned kSpinsBeforeYield = 2000;  // about 50 us

// Seals that fix the size of a memory file: reading beyond the end of a truncated file is a SIGBUS.
constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

// Processes that share memory share no locks: the counters must be plain machine words.
using Counter = std::atomic<std::size_t>;
static_assert(Counter::is_always_lock_free);

[[noreturn]] void fail(const char* what) {
  throw Error("RENDEZVOUS_FAILED", std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

// Waiting threads read other cache lines than arriving threads write. Another process may have written
// anything here: every bit pattern is a valid value, and counts are limited to the size of the arrays.
struct Rendezvous::State {
  alignas(64) Counter parties{0};
  Counter flow_count{0};
  Counter flow_threads[kMaxFlows]{};
  alignas(64) Counter arrived{0};
  alignas(64) Counter generation{0};
  Counter cancelled{0};                     // anything but 0
  alignas(64) Counter closed[kMaxFlows]{};  // windows closed over all samples
};

Rendezvous::State* Rendezvous::map(int file) {
  const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* const memory = mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) fail("memory for a rendezvous cannot be mapped");
  return static_cast<State*>(memory);
}

Rendezvous::Rendezvous(std::span<const std::size_t> flows) : state_(new (map(-1)) State) {
  try {
    reset(flows);
  } catch (...) {
    munmap(state_, sizeof(State));
    throw;
  }
}

std::shared_ptr<Rendezvous> Rendezvous::create_shared() {
  Descriptor file(memfd_create("pinbench-rendezvous", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) fail("a file in memory cannot be made");
  if (ftruncate(file.get(), sizeof(State)) != 0) fail("a file in memory cannot be enlarged");
  if (fcntl(file.get(), F_ADD_SEALS, kSizeSeals) != 0) fail("a file in memory cannot be kept at its size");
  State* const state = new (map(file.get())) State;
  return std::shared_ptr<Rendezvous>(new Rendezvous(std::move(file), state));
}

std::shared_ptr<Rendezvous> Rendezvous::open_shared(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) fail("another process' rendezvous cannot be opened");
  struct stat status {};
  if (fstat(file.get(), &status) != 0) fail("another process' rendezvous cannot be read");
  const int seals = fcntl(file.get(), F_GET_SEALS);  // -1 if it is no memory file
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals || status.st_size != sizeof(State))
    throw Error("RENDEZVOUS_FAILED", path + " is no rendezvous of this version of pinbench");
  State* const state = map(file.get());
  return std::shared_ptr<Rendezvous>(new Rendezvous(std::move(file), state));
}

Rendezvous::~Rendezvous() {
  munmap(state_, sizeof(State));
}

std::string Rendezvous::path() const {
  if (file_.get() < 0) return {};
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_.get());
}

void Rendezvous::reset(std::span<const std::size_t> flows) {
  if (flows.empty() || flows.size() > kMaxFlows)
    throw Error("INVALID_REQUEST", "a rendezvous has 1 to 128 flows");
  std::size_t parties = 0;
  for (const auto threads : flows) {
    if (threads == 0) throw Error("INVALID_REQUEST", "a flow has at least one thread");
    parties += threads;
  }
  for (std::size_t flow = 0; flow < flows.size(); ++flow) {
    state_->flow_threads[flow] = flows[flow];
    state_->closed[flow] = 0;
  }
  state_->flow_count = flows.size();
  state_->parties = parties;
  state_->arrived = 0;
  state_->cancelled = 0;
}

std::size_t Rendezvous::flow_count() const {
  return std::min(state_->flow_count.load(), kMaxFlows);
}

bool Rendezvous::arrive_and_wait() {
  const auto generation = state_->generation.load(std::memory_order_acquire);
  if (state_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == state_->parties.load()) {
    state_->arrived.store(0, std::memory_order_relaxed);
    state_->generation.fetch_add(1, std::memory_order_release);
    return !is_cancelled();
  }
  for (unsigned spins = 0; state_->generation.load(std::memory_order_acquire) == generation; ++spins) {
    if (is_cancelled()) return false;
    if (spins < kSpinsBeforeYield) {
      pause_cpu();
    } else {
      sched_yield();
    }
  }
  return !is_cancelled();
}

void Rendezvous::cancel() {
  state_->cancelled.store(1, std::memory_order_release);
}

bool Rendezvous::is_cancelled() const {
  return state_->cancelled.load(std::memory_order_acquire) != 0 || state_->flow_count.load() > kMaxFlows;
}

void Rendezvous::close_window(std::size_t flow) {
  state_->closed[flow].fetch_add(1);
}

bool Rendezvous::is_closed(std::size_t flow, std::size_t sample) const {
  return state_->closed[flow].load() >= (sample + 1) * state_->flow_threads[flow].load();
}

bool Rendezvous::all_are_closed(std::size_t sample) const {
  for (std::size_t flow = 0; flow < flow_count(); ++flow) {
    if (!is_closed(flow, sample)) return false;
  }
  return true;
}

}  // namespace pinbench
