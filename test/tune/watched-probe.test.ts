import { expect, it, vi } from "vitest";
import type { DeviceSharing } from "../../src/host/device-sharing.js";
import { watched } from "../../src/tune/open-probe.js";
import { ScriptedProbe, trialOf } from "../helpers/tune.js";

it("gives a device's turn back with the probe, even if that cannot be closed", async () => {
  const release = vi.fn(async () => undefined);
  const probe = new ScriptedProbe((setting) => trialOf(setting, []));
  probe.close = async () => {
    throw new Error("it hangs");
  };
  const sharing = { records: [], look: async () => undefined, release } as unknown as DeviceSharing;
  await expect(watched(probe, sharing, [0]).close()).rejects.toThrow("it hangs");
  expect(release).toHaveBeenCalledOnce();
});
