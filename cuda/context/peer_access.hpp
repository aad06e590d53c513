#pragma once

#include <memory>
#include <vector>

#include "context/device_context.hpp"

namespace pinbench {

// Whether one device may reach into the memory of others. That belongs to pairs of contexts, and so to the
// whole process: another library, or another session of the device, may change it at any time. So the driver
// is asked before every use, and all that is remembered is what to take back at the end.
class PeerAccess {
 public:
  explicit PeerAccess(DeviceContext& context) : context_(context) {}
  // Takes back what set() gave and the driver still knows of. In a thread where the context is current.
  ~PeerAccess() {
    // That somebody else has taken it back before is no news.
    for (const auto& given : given_) context_.cuda().contextDisablePeerAccess(given.peer);
  }
  PeerAccess(const PeerAccess&) = delete;
  PeerAccess& operator=(const PeerAccess&) = delete;

  // Nothing to do is no error. Throws the driver's own, such as CUDA_ERROR_PEER_ACCESS_UNSUPPORTED. Needs the
  // optional entry points for it.
  void set(const DeviceContext& peer, bool access) {
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

 private:
  struct Given {
    cu::Context peer;
    std::shared_ptr<const PrimaryContext> retained;  // so that `peer` can still be named at the end
  };

  DeviceContext& context_;
  std::vector<Given> given_;
};

}  // namespace pinbench
