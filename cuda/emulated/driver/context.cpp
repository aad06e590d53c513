#include "emulated/driver/context.hpp"

namespace pinbench::emulated {

Context::Context(Settings& settings, HostMemory& host_memory, Links& links, SharedDevice device)
    : settings_(settings),
      host_memory_(host_memory),
      links_(links),
      ordinal_(static_cast<int>(device.ordinal)),
      memory_(settings.memory_bytes, settings.context_bytes, device) {}

Context::~Context() {
  shut_down();
}

void Context::shut_down() {
  scheduler_.shut_down();
  host_memory_.release_all_of(*this);
  memory_.free_all();
}

void Context::place_host_side(Copy& copy) {
  const bool to_device = copy.route.direction == Direction::kHostToDevice;
  if (!to_device && copy.route.direction != Direction::kDeviceToHost) return;
  copy.route.node = host_memory_.node_of(to_device ? copy.source : copy.destination);
}

Route Context::route_of(cu::DevicePtr destination, cu::DevicePtr source, std::size_t bytes) const {
  const bool to_device = memory_.contains(destination, bytes);
  const bool from_device = memory_.contains(source, bytes);
  if (to_device == from_device) return {Direction::kDeviceToDevice, ordinal_, {}, {}};
  const bool is_peer = is_memory_of_peer(to_device ? source : destination, bytes);
  if (to_device) return {is_peer ? Direction::kPeerToPeer : Direction::kHostToDevice, ordinal_, {}, ordinal_};
  return {is_peer ? Direction::kPeerToPeer : Direction::kDeviceToHost, ordinal_, ordinal_, {}};
}

Copy Context::copy_of(cu::DevicePtr destination, cu::DevicePtr source, std::size_t bytes,
                      const Route& route) {
  Copy copy{device_address(destination),
            device_address(source),
            bytes,
            faults().next_copy(route.direction, bytes),
            route,
            &links_};
  if (settings_.numa) place_host_side(copy);
  const std::scoped_lock lock(previous_mutex_);
  const auto previous =
      std::exchange(previous_[static_cast<std::size_t>(route.direction)], {destination, bytes});
  if (!copy.fault.mixes_up()) return copy;
  // The program may have freed that memory since.
  if (previous.bytes == bytes && is_reachable(previous.destination, bytes)) {
    copy.fault.previous = device_address(previous.destination);
  } else {
    copy.fault.kind = CopyFaultKind::kDrop;
  }
  return copy;
}

bool Context::give_access_to(const std::shared_ptr<Context>& peer) {
  const std::scoped_lock lock(peers_mutex_);
  const auto is_peer = [&](const auto& each) { return each.lock() == peer; };
  if (std::ranges::any_of(peers_, is_peer)) return false;
  peers_.push_back(peer);
  return true;
}

bool Context::take_access_to(const Context& peer) {
  const std::scoped_lock lock(peers_mutex_);
  return std::erase_if(peers_, [&](const auto& each) { return each.lock().get() == &peer; }) > 0;
}

Possessions Context::possessions() const {
  const auto [allocated, registered] = host_memory_.count_of(*this);
  return {memory_.count(), allocated, registered, streams.size(), events.size(), modules.size()};
}

bool Context::is_reachable(cu::DevicePtr begin, std::size_t bytes) const {
  return memory_.contains(begin, bytes) || is_host_memory(begin, bytes) || is_memory_of_peer(begin, bytes);
}

bool Context::is_host_memory(cu::DevicePtr begin, std::size_t bytes) const {
  if (host_memory_.is_pinned(begin, bytes)) return true;
  return settings_.is_coherent(ordinal_) && begin != 0 && !memory_.contains(begin, bytes) &&
         !is_memory_of_peer(begin, bytes);
}

bool Context::is_memory_of_peer(cu::DevicePtr begin, std::size_t bytes) const {
  const std::scoped_lock lock(peers_mutex_);
  return std::any_of(peers_.begin(), peers_.end(), [&](const auto& each) {
    const auto peer = each.lock();
    return peer != nullptr && peer->memory_.contains(begin, bytes);
  });
}

}  // namespace pinbench::emulated
