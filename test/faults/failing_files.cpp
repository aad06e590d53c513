// For LD_PRELOAD: one call on the files of one folder fails, as on a disk that breaks or fills. The
// environment says which.
//
// FAIL_FILES_BELOW: the folder; calls on other files go their way.
//
// FAIL_FILES_LOG: a file that gets a line "PID CALL PATH" for each call, with a ! before it where it was made
// to fail.
//
// FAIL_FILES_CALL: the function of the C library, such as rename; without it nothing fails, and all are
// listed.
//
// FAIL_FILES_AT: which of a process' calls of that name, from 1.
//
// FAIL_FILES_ERRNO: the error; 0 for a write that takes half of what it is given, which is none.
//
// FAIL_FILES_ON: if it is set, all later calls of that name fail as well.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdlib>
#include <string>

namespace {

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

struct Orders {
  std::string folder = variable("FAIL_FILES_BELOW");
  std::string log = variable("FAIL_FILES_LOG");
  std::string call = variable("FAIL_FILES_CALL");
  int at = std::atoi(variable("FAIL_FILES_AT").c_str());
  int error = std::atoi(variable("FAIL_FILES_ERRNO").c_str());
  bool goes_on = !variable("FAIL_FILES_ON").empty();
};

// Never destroyed: files are closed until the very end of a process.
const Orders& orders() {
  static const Orders* const all = new Orders;
  return *all;
}

template <typename Function>
Function* original(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Past the functions below, which the log must not count.
template <typename... Arguments>
long ask_kernel(long number, Arguments... arguments) {
  static const auto call = original(&syscall, "syscall");
  return call(number, arguments...);
}

void note(const std::string& line) {
  const long log =
      ask_kernel(SYS_open, orders().log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (log < 0) return;
  ask_kernel(SYS_write, log, line.data(), line.size());
  ask_kernel(SYS_close, log);
}

std::string link_target(const std::string& link) {
  char path[PATH_MAX];
  const long length = ask_kernel(SYS_readlink, link.c_str(), path, sizeof path);
  return length < 0 ? "" : std::string(path, static_cast<size_t>(length));
}

// Whether this call is to fail.
bool is_struck(const char* call, std::string path) {
  if (!path.empty() && path[0] != '/') path = link_target("/proc/self/cwd") + "/" + path;
  static std::atomic<int> calls{0};
  const Orders& all = orders();
  if (all.folder.empty() || path.compare(0, all.folder.size(), all.folder) != 0) return false;
  bool strikes = false;
  if (all.call == call) {
    const int count = ++calls;
    strikes = count == all.at || (all.goes_on && count > all.at);
  }
  note((strikes ? "!" : "") + std::to_string(getpid()) + " " + call + " " + path + "\n");
  return strikes;
}

// Empty for a pipe and the like, which have no path.
std::string path_of(int descriptor) {
  const std::string path = link_target("/proc/self/fd/" + std::to_string(descriptor));
  return path.compare(0, 1, "/") == 0 ? path : "";
}

long fail() {
  errno = orders().error;
  return -1;
}

bool is_short() {
  return orders().error == 0;
}

}  // namespace

extern "C" {

int open64(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | __O_TMPFILE)) != 0) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  if (is_struck("open", path)) return static_cast<int>(fail());
  static const auto call = original(&open64, "open64");
  return call(path, flags, mode);
}

ssize_t read(int descriptor, void* to, size_t size) {
  static const auto call = original(&read, "read");
  return is_struck("read", path_of(descriptor)) ? fail() : call(descriptor, to, size);
}

ssize_t pread64(int descriptor, void* to, size_t size, off64_t offset) {
  static const auto call = original(&pread64, "pread64");
  return is_struck("read", path_of(descriptor)) ? fail() : call(descriptor, to, size, offset);
}

ssize_t write(int descriptor, const void* from, size_t size) {
  static const auto call = original(&write, "write");
  if (!is_struck("write", path_of(descriptor))) return call(descriptor, from, size);
  return is_short() ? call(descriptor, from, (size + 1) / 2) : fail();
}

ssize_t pwrite64(int descriptor, const void* from, size_t size, off64_t offset) {
  static const auto call = original(&pwrite64, "pwrite64");
  if (!is_struck("write", path_of(descriptor))) return call(descriptor, from, size, offset);
  return is_short() ? call(descriptor, from, (size + 1) / 2, offset) : fail();
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  static const auto call = original(&writev, "writev");
  if (!is_struck("write", path_of(descriptor))) return call(descriptor, parts, count);
  return is_short() ? call(descriptor, parts, (count + 1) / 2) : fail();
}

int fsync(int descriptor) {
  static const auto call = original(&fsync, "fsync");
  return is_struck("fsync", path_of(descriptor)) ? static_cast<int>(fail()) : call(descriptor);
}

// libuv closes and asks about files past the C library's own functions.
long syscall(long number, ...) noexcept {
  long values[6];
  va_list more;
  va_start(more, number);
  for (long& value : values) value = va_arg(more, long);
  va_end(more);
  bool strikes = false;
  if (number == SYS_close) strikes = is_struck("close", path_of(static_cast<int>(values[0])));
  if (number == SYS_statx && values[1] != 0)
    strikes = is_struck("stat", reinterpret_cast<const char*>(values[1]));
  if (strikes && number != SYS_close) return fail();
  const long answer = ask_kernel(number, values[0], values[1], values[2], values[3], values[4], values[5]);
  // Linux gives the descriptor back whatever it answers.
  return strikes ? fail() : answer;
}

int ftruncate64(int descriptor, off64_t size) {
  static const auto call = original(&ftruncate64, "ftruncate64");
  return is_struck("ftruncate", path_of(descriptor)) ? static_cast<int>(fail()) : call(descriptor, size);
}

int fchmod(int descriptor, mode_t mode) {
  static const auto call = original(&fchmod, "fchmod");
  return is_struck("fchmod", path_of(descriptor)) ? static_cast<int>(fail()) : call(descriptor, mode);
}

int rename(const char* from, const char* to) {
  static const auto call = original(&rename, "rename");
  return is_struck("rename", to) ? static_cast<int>(fail()) : call(from, to);
}

int link(const char* from, const char* to) {
  static const auto call = original(&link, "link");
  return is_struck("link", to) ? static_cast<int>(fail()) : call(from, to);
}

int unlink(const char* path) {
  static const auto call = original(&unlink, "unlink");
  return is_struck("unlink", path) ? static_cast<int>(fail()) : call(path);
}

int mkdir(const char* path, mode_t mode) {
  static const auto call = original(&mkdir, "mkdir");
  return is_struck("mkdir", path) ? static_cast<int>(fail()) : call(path, mode);
}

int rmdir(const char* path) {
  static const auto call = original(&rmdir, "rmdir");
  return is_struck("rmdir", path) ? static_cast<int>(fail()) : call(path);
}

int access(const char* path, int mode) {
  static const auto call = original(&access, "access");
  return is_struck("access", path) ? static_cast<int>(fail()) : call(path, mode);
}

int scandir64(const char* path, dirent64*** names, int (*filter)(const dirent64*),
              int (*compare)(const dirent64**, const dirent64**)) {
  static const auto call = original(&scandir64, "scandir64");
  return is_struck("readdir", path) ? static_cast<int>(fail()) : call(path, names, filter, compare);
}
}
