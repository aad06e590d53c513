#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <thread>

// ThreadSanitizer starts a thread of its own with the first one, which tests that count threads must not see
// begin.
const bool kThreadsBegan = (std::thread([] {}).join(), true);
