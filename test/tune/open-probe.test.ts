import { beforeEach, describe, expect, it, vi } from "vitest";
import type { DeviceSharing } from "../../src/host/device-sharing.js";
import { emulatedNote } from "../../src/results/device-facts.js";
import { usualSetting } from "../../src/results/loader-setting.js";
import { defaultsOf } from "../../src/settings/settings.js";
import { type TuneSettings, tuneSettings } from "../../src/settings/tune-settings.js";
import type { ModelProbeOptions } from "../../src/tune/model/model-probe.js";
import { openProbe } from "../../src/tune/open-probe.js";
import { simulatedFacts } from "../helpers/simulated-loader.js";
import { ScriptedProbe, trialOf } from "../helpers/tune.js";

/** What is opened, and which devices are looked at, of three that others may use if they are shared. */
const seen = vi.hoisted(() => ({
  opened: [] as { ordinal: number; busId: string; placed: string; options: ModelProbeOptions }[],
  looks: [] as (readonly number[])[],
  released: 0,
  areShared: false,
  isEmulated: false,
  failure: null as Error | null,
}));

vi.mock("../../src/native/load.js", () => ({
  loadAddon: () => ({
    addon: { dropFromPageCache: async () => undefined },
    passedOver: [{ path: "old.node" }],
  }),
}));
vi.mock("../../src/native/backend.js", () => ({
  openBackend: async () => ({
    driver: {},
    facts: {
      emulated: seen.isEmulated,
      devices: [0, 1, 2].map((ordinal) => ({ ordinal, pciBusId: `0000:0${ordinal}:00.0` })),
    },
  }),
  sharedDevices: (_: unknown, devices: object[]) => (seen.areShared ? devices : []),
}));
vi.mock("../../src/host/device-sharing.js", () => ({
  DeviceSharing: class {
    readonly records = [];
    look = async (open: readonly number[]) => void seen.looks.push(open);
    release = async () => void ++seen.released;
    begin = async () => undefined;
  },
}));
vi.mock("../../src/host/topology.js", async (original) => ({
  ...(await original<object>()),
  choosePlacement: (busId: string) => ({ busId }),
}));
vi.mock("../../src/tune/machine-limits.js", async (original) => ({
  ...(await original<object>()),
  machineLimits: (ranks: number) => ({ ranks, usableCpus: 64, memoryAvailableBytes: 2 ** 40 }),
}));
vi.mock("../../src/tune/model/data-folder.js", () => ({
  listDataFolder: async (path: string) => ({ path, files: ["a"], totalBytes: 100, meanBytes: 100 }),
  defaultSampleBytes: () => 100,
}));
vi.mock("../../src/tune/model/model-probe.js", () => ({
  openModelProbe: async (options: ModelProbeOptions) => {
    if (seen.failure !== null) throw seen.failure;
    const { device, placement } = options as unknown as {
      device: { ordinal: number; pciBusId: string };
      placement: { busId: string };
    };
    seen.opened.push({
      ...{ ordinal: device.ordinal, busId: device.pciBusId, placed: placement.busId, options },
    });
    const facts = { ...simulatedFacts, notes: ["a model"] };
    return new ScriptedProbe((setting) => trialOf(setting, [1e6]), facts);
  },
}));

beforeEach(() => {
  Object.assign(seen, { opened: [], looks: [], released: 0 });
  Object.assign(seen, { areShared: false, isEmulated: false, failure: null });
});

const signal = new AbortController().signal;
const usual = { ...defaultsOf(tuneSettings), batchSize: 8, sample: { bytes: 1024, costNs: 0 } };
const opening = (changes: Partial<TuneSettings>, begin = async (_: DeviceSharing) => true) => {
  const onOpen = vi.fn();
  return { probe: openProbe({ ...usual, ...changes }, signal, { begin, onOpen }), onOpen };
};
const control = { enough: () => true, signal, timeoutNs: 1e9 };

describe("a model of a loader", () => {
  it("has a device for each rank, and CPUs and memory near that device", async () => {
    await opening({ device: 1, ranks: 3 }).probe;
    expect(seen.opened.map(({ ordinal }) => ordinal)).toEqual([1, 0, 2]);
    expect(seen.opened.map(({ placed }) => placed)).toEqual(seen.opened.map(({ busId }) => busId));
    expect(seen.opened.map(({ options: { rank } }) => rank)).toEqual(
      [0, 1, 2].map((index) => ({ index, count: 3 })),
    );
  });

  it("assigns devices in turn if there are more ranks than devices", async () => {
    await opening({ ranks: 5 }).probe;
    expect(seen.opened.map(({ ordinal }) => ordinal)).toEqual([0, 1, 2, 0, 1]);
  });

  it("has the requested cost of a sample, and drops files from the page cache only with --cold", async () => {
    await opening({ data: "images", sample: { bytes: 200, costNs: 5e5 }, cold: true }).probe;
    await opening({ data: "images", sample: null }).probe;
    const [cold, warm] = seen.opened.map(({ options }) => options);
    expect(cold).toMatchObject({ sampleCostNs: 5e5, sampleBytes: 200, dropFiles: expect.any(Function) });
    expect(warm).toMatchObject({ sampleCostNs: 0, sampleBytes: 100, dropFiles: null });
  });

  it("reports what was opened, and notes first if the device is emulated", async () => {
    const { probe, onOpen } = opening({});
    expect((await probe).facts.notes).toEqual(["a model"]);
    expect(onOpen).toHaveBeenCalledWith({
      ...{ backend: expect.objectContaining({ driver: {} }), passedOver: [{ path: "old.node" }] },
    });
    seen.isEmulated = true;
    expect((await opening({}).probe).facts.notes).toEqual([emulatedNote, "a model"]);
  });

  it("is not opened on a device that does not exist", async () => {
    await expect(opening({ device: 7 }).probe).rejects.toThrow("There is no device 7.");
  });
});

describe("devices that others may use", () => {
  it("are checked for other users after each trial, for all ranks", async () => {
    seen.areShared = true;
    const probe = await opening({ device: 2, ranks: 2 }).probe;
    expect(seen.looks).toEqual([]);
    await probe.measure(usualSetting(0, false), control);
    expect({ looks: seen.looks, released: seen.released }).toEqual({ looks: [[2, 0]], released: 0 });
    await probe.close();
    expect(seen.released).toBe(1);
  });

  it("are given back if waiting for them was interrupted, or the model cannot be opened", async () => {
    seen.areShared = true;
    await expect(opening({}, async () => false).probe).rejects.toThrow(
      "Waiting for the device was interrupted.",
    );
    expect({ opened: seen.opened, released: seen.released }).toEqual({ opened: [], released: 1 });
    seen.failure = new Error("there is no memory");
    await expect(opening({}).probe).rejects.toThrow("there is no memory");
    expect(seen.released).toBe(2);
  });
});
