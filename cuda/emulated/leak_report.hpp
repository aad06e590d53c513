#pragma once

namespace pinbench::emulated {

// Makes the process append its line to the file of PINBENCH_EMULATED_LEAKS when it exits, but not if a signal
// or _exit() ends it. At most once.
void report_leaks_at_exit();

}  // namespace pinbench::emulated
