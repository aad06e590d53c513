import { afterEach, describe, expect, it } from "vitest";
import { openBackend } from "../../src/native/backend.js";
import { loadAddon } from "../../src/native/load.js";
import { emulatedNvml } from "../helpers/run-cli.js";

/** The emulated NVML's reports. They are read once, when this process opens its first driver. */
const variables = {
  PINBENCH_EMULATED_DEVICES: "2",
  PINBENCH_EMULATED_NVML: "",
  PINBENCH_EMULATED_FAULTS: "cuMemHostRegister_v2:801",
};
const facts = {
  generation: 5,
  width: 4,
  maxGeneration: 5,
  maxWidth: 16,
  cardMaxGeneration: 5,
  replays: 12,
  clockReasons: ["hw-thermal-slowdown"],
  smClockMHz: 1755,
  memoryClockMHz: 2600,
  maxSmClockMHz: 1980,
  temperatureC: 93,
  powerWatts: 350.5,
  powerLimitWatts: 700,
  eccErrors: 2,
  retirementPending: true,
  mig: false,
  confidentialComputing: false,
  c2cLinks: 10,
  processes: "4711/1GiB,4712",
  utilization: 37,
  toDeviceBytesPerSecond: 2e9,
  driverVersion: "580.1",
};

afterEach(() => {
  for (const name of Object.keys(variables)) delete process.env[name];
});

const openWith = (nvml: string) => {
  Object.assign(process.env, variables, { PINBENCH_EMULATED_NVML: nvml });
  return openBackend("emulated", loadAddon());
};

describe("a device's health", () => {
  // Must be the first test: a malformed value is not kept.
  it("is an error that names PINBENCH_EMULATED_NVML if that is malformed", async () => {
    await expect(openWith("width=4; width=4; width=4")).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("PINBENCH_EMULATED_NVML: it must have one item, or one for each"),
      hint: expect.stringContaining("PINBENCH_EMULATED_"),
    });
  });

  it("is what NVML reports, and null if NVML does not know the device", async () => {
    const { driver, facts: told } = await openWith(`${emulatedNvml(facts)}; none`);
    const link = {
      generation: 5,
      width: 4,
      maxGeneration: 5,
      maxWidth: 16,
      smClockMHz: 1755,
      memoryClockMHz: 2600,
    };
    expect(told).toMatchObject({ emulated: true, driverVersion: "580.1", nvmlError: null });
    expect(told.devices.map((device) => device.link)).toEqual([link, null]);
    expect(told.devices).toMatchObject([
      { ordinal: 0, coherent: true, readsPageable: true },
      { ordinal: 1, coherent: false, readsPageable: false },
    ]);
    for (const device of told.devices) {
      expect(device).toMatchObject({
        ...{ canMapHostMemory: true, canRegisterHostMemory: false, integrated: false },
        ...{ computeCapability: "0.0", multiprocessors: 1, l2CacheBytes: 0, copyEngines: 2 },
      });
    }

    const [first, second] = told.devices.map(({ pciBusId }) => pciBusId);
    expect(await driver.readHealth(first!)).toEqual({
      link,
      cardMaxGeneration: 5,
      replays: 12,
      clockReasons: ["hw-thermal-slowdown"],
      maxSmClockMHz: 1980,
      temperatureC: 93,
      powerWatts: 350.5,
      powerLimitWatts: 700,
      eccErrors: 2,
      retirementPending: true,
      migEnabled: false,
      confidentialComputing: false,
      c2cLinks: 10,
    });
    expect(await driver.readProcesses(first!)).toEqual([
      { pid: 4711, deviceMemoryBytes: 1024 ** 3 },
      { pid: 4712, deviceMemoryBytes: null },
    ]);
    expect(await driver.readActivity(first!)).toEqual({
      computePercent: 37,
      toDeviceBytesPerSecond: 2e9,
      fromDeviceBytesPerSecond: null,
    });
    expect(await driver.readHealth(second!)).toBeNull();
    expect(await driver.readProcesses(second!)).toBeNull();
  });
});
