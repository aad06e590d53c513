// The parts of measure() that have a file of their own.
#pragma once

#include <vector>

#include "checks/cell_memory.hpp"
#include "session/session.hpp"
#include "timing/timing_run.hpp"

namespace pinbench {

// Throws INVALID_REQUEST, NOT_RESERVED, NO_KERNELS or NO_BATCH_COPIES if the session cannot carry it out.
void check_request(Session& session, const MeasureRequest& request, const CellMemory& memory);

// Throws INVALID_REQUEST or NO_PEER_COPIES if these two devices, or one alone, cannot copy that way.
void check_peer(Session& session, const MeasureRequest& request);

// Block addresses of one worker's copies that are listed in ordinary memory: those of the first copy, then
// those of the second, and so on.
struct BlockAddresses {
  std::vector<cu::DevicePtr> host;
  std::vector<cu::DevicePtr> device;
};

// Lists the addresses of all blocks before anything is timed, and adds the lists to `buffers`, the copies of
// the call in order. The result must live as long as `buffers`.
std::vector<BlockAddresses> list_blocks(DeviceContext& context, const MeasureRequest& request,
                                        const CellMemory& memory, std::vector<WorkerBuffers>& buffers);

}  // namespace pinbench
