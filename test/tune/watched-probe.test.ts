import { expect, it, vi } from "vitest";
import type { DeviceSharing } from "../../src/host/device-sharing.js";
import { usualSetting } from "../../src/results/loader-setting.js";
import { watched } from "../../src/tune/open-probe.js";
import { simulatedFacts } from "../helpers/simulated-loader.js";
import { ScriptedProbe, trialOf } from "../helpers/tune.js";

const other = {
  ...{ kind: "program", pid: 7, name: "train", since: null },
  ...{ deviceMemoryBytes: null, wasThereBefore: false },
};
const record = () => ({ device: 0, others: [] as object[], activityBefore: null, unseen: [] });

it("a probe notes another program that used the device before the first trial", () => {
  const records = [{ ...record(), others: [{ ...other, wasThereBefore: true }] }];
  const probe = new ScriptedProbe((setting) => trialOf(setting, []), { ...simulatedFacts, notes: [] });
  watched(probe, { records } as unknown as DeviceSharing, [0]);
  expect(probe.facts.notes).toEqual([expect.stringMatching(/^During this search .*train/)]);
});

it("a watched probe is ready when the probe within is", async () => {
  const ready = vi.fn(async () => undefined);
  const probe = Object.assign(new ScriptedProbe((setting) => trialOf(setting, [])), { ready });
  const { signal } = new AbortController();
  await watched(probe, { records: [] } as unknown as DeviceSharing, [0]).ready!(signal);
  expect(ready).toHaveBeenCalledWith(signal);
});

it("a probe notes another program that came during a trial only once", async () => {
  const seen = record();
  const look = async () => void seen.others.splice(0, 1, other);
  const sharing = { records: [seen], look, release: async () => undefined } as unknown as DeviceSharing;
  const probe = watched(new ScriptedProbe((setting) => trialOf(setting, [1e6])), sharing, [0]);
  const before = probe.facts.notes.length;
  const control = { enough: () => true, signal: new AbortController().signal, timeoutNs: 1e9 };
  for (let trial = 0; trial < 2; ++trial) await probe.measure(usualSetting(0, false), control);
  expect(probe.facts.notes.slice(before)).toEqual([expect.stringMatching(/^During this search .*train/)]);
});

it("closing a probe releases its device for others, even if closing fails", async () => {
  const release = vi.fn(async () => undefined);
  const probe = new ScriptedProbe((setting) => trialOf(setting, []));
  probe.close = async () => {
    throw new Error("it hangs");
  };
  const sharing = { records: [], look: async () => undefined, release } as unknown as DeviceSharing;
  await expect(watched(probe, sharing, [0]).close()).rejects.toThrow("it hangs");
  expect(release).toHaveBeenCalledOnce();
});
