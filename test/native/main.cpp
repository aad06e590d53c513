#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <thread>

// ThreadSanitizer starts its own thread with the first one. It must start before tests that count threads.
const bool kThreadsBegan = (std::thread([] {}).join(), true);
