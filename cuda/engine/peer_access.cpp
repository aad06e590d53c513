#include "engine/peer_access.hpp"

namespace pinbench {

PeerAccess::~PeerAccess() {
  // A peer that has ended before has taken its access with it: the error that this is then is no news.
  for (const auto peer : given_) context_.cuda().contextDisablePeerAccess(peer);
}

void PeerAccess::set(const DeviceContext& peer, bool access) {
  const auto& cuda = context_.cuda();
  context_.on_device_thread([&] {
    const auto changed = access ? cuda.contextEnablePeerAccess(peer.handle(), 0)
                                : cuda.contextDisablePeerAccess(peer.handle());
    const bool was_so =
        changed.result == (access ? cu::kErrorPeerAccessAlreadyEnabled : cu::kErrorPeerAccessNotEnabled);
    if (was_so) return;
    cuda.check(changed);
    std::erase(given_, peer.handle());
    if (access) given_.push_back(peer.handle());
  });
}

}  // namespace pinbench
