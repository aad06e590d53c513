#include "context/peer_access.hpp"

namespace pinbench {

PeerAccess::~PeerAccess() {
  // That somebody else has taken it back before is no news.
  for (const auto& given : given_) context_.cuda().contextDisablePeerAccess(given.peer);
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
    std::erase_if(given_, [&](const Given& given) { return given.peer == peer.handle(); });
    if (access) given_.push_back({peer.handle(), peer.retained()});
  });
}

}  // namespace pinbench
