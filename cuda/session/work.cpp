#include "session/work.hpp"

#include "driver/error.hpp"

namespace pinbench {

std::shared_ptr<Loader> open_loader(Session& session, const LoaderOptions& options) {
  const std::lock_guard lock(session.mutex());
  DeviceContext& context = session.context();
  context.abort().throw_if_set();
  if (const auto open = session.loader().lock(); open != nullptr && !open->is_closed())
    throw Error("LOADER_OPEN", "the session's loader has not been closed");
  auto& burner = session.burner();
  if (options.sample_cost_ns > 0 && !burner)
    context.on_device_thread([&burner] { burner = CpuBurner::calibrate(); });
  const auto loader =
      std::make_shared<Loader>(context, session.kernels(), burner, session.options().seed, options);
  session.loader() = loader;
  return loader;
}

WeightsPass load_weights(Session& session, const WeightsRequest& request) {
  const std::lock_guard lock(session.mutex());
  return load_weights(session.context(), session.lanes(), request);
}

std::shared_ptr<Load> start_load(Session& session, const LoadOptions& options) {
  const auto load =
      std::make_shared<Load>(session.context(), session.kernels(), options, session.opening().opened_at_ns);
  session.loads().add(load);
  return load;
}

std::shared_ptr<Pool> obtain_pool(Session& session, const PoolOptions& options) {
  const auto pool = std::make_shared<Pool>(session.context(), options);
  session.pools().add(pool);
  return pool;
}

}  // namespace pinbench
