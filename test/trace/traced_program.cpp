// A program that uses the stand-in's CUDA: `traced_program SCRIPT` loads the library of CUDA_INJECTION64_PATH
// as CUDA's driver does, and plays the script's lines. It knows "sleep MS", "fork", "kill", "say TEXT", "exit
// CODE", "times N LINE", "without-cuda", "written TEXT", which waits until the library has written that, and
// "after VARIABLE", which waits until a time in ns; the other lines are the stand-in's.
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

namespace {

void (*play)(const char*) = nullptr;

void initialize_cuda() {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) return;
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) return;
  void* const cupti = dlopen(std::getenv("FAKE_CUPTI"), RTLD_NOW);
  reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))();
  play = reinterpret_cast<void (*)(const char*)>(dlsym(cupti, "fake_cupti_play"));
}

// Whether a file of the library has this text.
bool is_written(const std::string& text) {
  for (const auto& file : std::filesystem::directory_iterator(std::getenv("PINBENCH_TRACE_FOLDER"))) {
    std::stringstream content;
    content << std::ifstream(file.path()).rdbuf();
    if (content.str().find(text) != std::string::npos) return true;
  }
  return false;
}

bool is_after(const std::string& variable) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::nanoseconds(now).count() > std::atoll(std::getenv(variable.c_str()));
}

void perform(const std::string& line) {
  std::istringstream words(line);
  std::string word, rest;
  words >> word;
  std::getline(words >> std::ws, rest);
  if (word == "sleep") usleep(1000 * static_cast<useconds_t>(std::stoi(rest)));
  if (word == "written") {
    while (!is_written(rest)) usleep(10'000);
  }
  if (word == "after") {
    while (!is_after(rest)) usleep(10'000);
  }
  if (word == "say") std::cout << rest << std::endl;
  if (word == "kill") raise(SIGKILL);
  if (word == "exit") std::exit(std::stoi(rest));
  if (word == "fork") {
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    waitpid(child, nullptr, 0);
  } else if (word == "times") {
    std::istringstream counted(rest);
    int times = 0;
    counted >> times;
    std::getline(counted >> std::ws, rest);
    while (times-- > 0) perform(rest);
  } else if (play != nullptr) {
    play(line.c_str());
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  std::ifstream script(arguments[1]);
  std::string line;
  bool is_first = true;
  while (std::getline(script, line)) {
    if (is_first && line != "without-cuda") initialize_cuda();
    is_first = false;
    perform(line);
  }
}
