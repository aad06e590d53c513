#pragma once

#include "checks/cell_memory.hpp"
#include "session/session.hpp"

namespace pinbench {

// Throws INVALID_REQUEST, NOT_RESERVED, NO_KERNELS or NO_BATCH_COPIES if the session cannot carry it out.
void check_request(Session& session, const MeasureRequest& request, const CellMemory& memory);

// Throws INVALID_REQUEST or NO_PEER_COPIES if these two devices, or one alone, cannot copy that way.
void check_peer(Session& session, const MeasureRequest& request);

}  // namespace pinbench
