#pragma once

#include <memory>
#include <vector>

#include "context/device_context.hpp"

namespace pinbench {

// Access of one device to the memory of others. It belongs to pairs of contexts, so to the whole process:
// another library or session may change it at any time. So it is set before every use, and only the access to
// revoke at the end is remembered.
class PeerAccess {
 public:
  explicit PeerAccess(DeviceContext& context) : context_(context) {}
  // Revokes the access that set() gave. Must run in a thread where the context is current.
  ~PeerAccess() {
    // Ignores errors: other code may have revoked the access before.
    for (const auto& given : given_) context_.cuda().contextDisablePeerAccess(given.peer);
  }
  PeerAccess(const PeerAccess&) = delete;
  PeerAccess& operator=(const PeerAccess&) = delete;

  // Enables or disables access to `peer`; no error if it is so already. Throws the driver's error, such as
  // CUDA_ERROR_PEER_ACCESS_UNSUPPORTED. Needs the optional entry points.
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
    std::shared_ptr<const PrimaryContext> retained;  // keeps `peer` valid until the end
  };

  DeviceContext& context_;
  std::vector<Given> given_;
};

}  // namespace pinbench
