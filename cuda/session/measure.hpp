#pragma once

#include "session/session.hpp"
#include "timing/measurement.hpp"

namespace pinbench {

// Takes some samples of a cell: measure() of NativeSession in src/native/contract.ts. A copy between two
// devices is a call of both sessions, which do nothing else meanwhile.
MeasureResult measure(Session& session, const MeasureRequest& request);

}  // namespace pinbench
