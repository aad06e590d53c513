#pragma once

#include <memory>

#include "session/session.hpp"
#include "weights/weights_load.hpp"

namespace pinbench {

// At most one is open at a time (LOADER_OPEN), and nothing else may be measured meanwhile.
std::shared_ptr<Loader> open_loader(Session& session, const LoaderOptions& options);

// Nothing else is measured meanwhile.
WeightsPass load_weights(Session& session, const WeightsRequest& request);

// These do not wait for what is measured, and several may be there at once. They end with the session at the
// latest.
std::shared_ptr<Load> start_load(Session& session, const LoadOptions& options);
std::shared_ptr<Pool> obtain_pool(Session& session, const PoolOptions& options);

}  // namespace pinbench
