#pragma once

namespace pinbench::emulated {

// Has the process append its line to the file of PINBENCH_EMULATED_LEAKS when it exits: not where a signal or
// _exit() ends it. At most once.
void report_leaks_at_exit();

}  // namespace pinbench::emulated
