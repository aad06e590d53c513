import { expect, it, vi } from "vitest";
import { defaultsOf } from "../../src/settings/settings.js";
import { tuneSettings } from "../../src/settings/tune-settings.js";
import { openProbe } from "../../src/tune/open-probe.js";
import { ScriptedProbe, trialOf } from "../helpers/tune.js";

const opened = vi.hoisted(() => [] as { ordinal: number; busId: string; placed: string }[]);

vi.mock("../../src/native/load.js", () => ({ loadAddon: () => ({ addon: {}, passedOver: [] }) }));
vi.mock("../../src/native/backend.js", () => ({
  openBackend: async () => ({
    driver: {},
    facts: {
      emulated: false,
      devices: [0, 1, 2].map((ordinal) => ({ ordinal, pciBusId: `0000:0${ordinal}:00.0` })),
    },
  }),
  sharedDevices: () => [],
}));
vi.mock("../../src/host/topology.js", async (original) => ({
  ...(await original<object>()),
  choosePlacement: (busId: string) => ({ busId }),
}));
vi.mock("../../src/tune/machine-limits.js", async (original) => ({
  ...(await original<object>()),
  machineLimits: (ranks: number) => ({ ranks, usableCpus: 64, memoryAvailableBytes: 2 ** 40 }),
}));
vi.mock("../../src/tune/model/model-probe.js", () => ({
  openModelProbe: async ({ device, placement }: { device: Opened; placement: { busId: string } }) => {
    opened.push({ ordinal: device.ordinal, busId: device.pciBusId, placed: placement.busId });
    return new ScriptedProbe((setting) => trialOf(setting, [1e6]));
  },
}));

interface Opened {
  ordinal: number;
  pciBusId: string;
}

it("each rank has its own device, and CPUs and memory near that one", async () => {
  const settings = { ...defaultsOf(tuneSettings), device: 1, ranks: 3, batchSize: 8, sampleBytes: 1024 };
  await openProbe(settings, new AbortController().signal);
  expect(opened.map(({ ordinal }) => ordinal)).toEqual([1, 0, 2]);
  expect(opened.map(({ placed }) => placed)).toEqual(opened.map(({ busId }) => busId));
});
