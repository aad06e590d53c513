import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { PinbenchError } from "../../src/errors.js";
import { batchCopiesOff } from "../../src/measure/prepare.js";
import { type Backend, openBackend, sharedDevices } from "../../src/native/backend.js";
import type { NativeAddon } from "../../src/native/contract.js";
import type { DriverFacts } from "../../src/native/device-contract.js";
import type { BackendChoice } from "../../src/settings/choices.js";
import { deviceFacts, nativeError } from "../measure/support.js";

const emulatedLibraryPath = "build/libpinbench_emulated.so";
const cudaFacts: DriverFacts = {
  emulated: false,
  cudaVersion: 13000,
  driverVersion: "580.1",
  missingSymbols: [],
  nvmlError: null,
  initNs: 1,
  devices: [deviceFacts],
};

/** What opening libcuda and then cuInit come to; opening the emulated driver always works. */
interface Machine {
  open?: string;
  initialize?: string;
  devices?: DriverFacts["devices"];
}

const notCalled = () => {
  throw new Error("opening a backend takes no more than openDriver()");
};
const otherFunctions = {
  createRendezvous: notCalled,
  openRendezvous: notCalled,
  dropFromPageCache: notCalled,
  wakeAsParentEnds: notCalled,
};

function openOn(machine: Machine, choice: BackendChoice, environment: NodeJS.ProcessEnv = {}) {
  const opened: { driver: string; nvml: string | null }[] = [];
  const addon: NativeAddon = {
    build: { compiler: "g++", kernels: true, sanitizer: null },
    ...otherFunctions,
    openDriver(paths) {
      opened.push(paths);
      const isEmulated = paths.driver === emulatedLibraryPath;
      if (!isEmulated && machine.open) throw nativeError(machine.open);
      return {
        async initialize() {
          if (isEmulated) return { ...cudaFacts, emulated: true };
          if (machine.initialize) throw nativeError(machine.initialize);
          return { ...cudaFacts, devices: machine.devices ?? cudaFacts.devices };
        },
        openSession: () => Promise.reject(new Error("not needed")),
        readProcesses: async () => null,
        readActivity: async () => null,
        readHealth: async () => null,
      };
    },
  };
  return { opened, backend: openBackend(choice, { addon, emulatedLibraryPath }, environment) };
}

async function failureOf(backend: Promise<unknown>): Promise<PinbenchError> {
  return backend.then(
    () => {
      throw new Error("it opened");
    },
    (error: PinbenchError) => error,
  );
}

describe("--backend auto", () => {
  it("takes the GPU", async () => {
    const { backend, opened } = openOn({}, "auto");
    expect(await backend).toMatchObject({ name: "cuda", library: "libcuda.so.1", fallbackReason: null });
    expect(opened).toEqual([{ driver: "libcuda.so.1", nvml: "libnvidia-ml.so.1" }]);
    const unnamed = openOn({}, "auto", { PINBENCH_CUDA_LIBRARY: "" });
    expect((await unnamed.backend).library).toBe("libcuda.so.1");
  });

  it.each([
    ["there is no driver library", { open: "LIBRARY_NOT_FOUND" }, /no driver library libcuda\.so\.1/],
    ["the driver says that there is no device", { initialize: "CUDA_ERROR_NO_DEVICE" }, /reports no device/],
    ["the driver lists no device", { devices: [] }, /reports no device/],
  ])("takes the emulated device if %s, and reports the reason", async (_, machine, reason) => {
    const backend = await openOn(machine, "auto").backend;
    expect(backend).toMatchObject({ name: "emulated", library: emulatedLibraryPath });
    expect(backend.fallbackReason).toMatch(reason);
  });

  it.each([
    ["does not load", { open: "LIBRARY_UNUSABLE" }, /PINBENCH_CUDA_LIBRARY/],
    ["is no CUDA driver", { open: "NOT_A_CUDA_DRIVER" }, /update NVIDIA's driver/],
    ["does not match its kernel module", { initialize: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" }, /reboot/],
    ["lacks system resources", { initialize: "CUDA_ERROR_OPERATING_SYSTEM" }, /^Raise the limits/],
    ["fails otherwise", { initialize: "CUDA_ERROR_UNKNOWN" }, /nvidia-smi/],
  ])("never falls back if a driver is there and %s", async (_, machine, hint) => {
    const { backend, opened } = openOn(machine, "auto");
    expect(await failureOf(backend)).toMatchObject({
      kind: "unavailable",
      exitCode: 3,
      message: expect.stringContaining("The driver cannot be used: it failed with"),
      hint: expect.stringMatching(hint),
    });
    expect(opened).toHaveLength(1);
  });

  it("opens the library that PINBENCH_CUDA_LIBRARY names, and never falls back", async () => {
    const environment = { PINBENCH_CUDA_LIBRARY: "another.so" };
    expect((await openOn({}, "auto", environment).backend).library).toBe("another.so");
    expect(await failureOf(openOn({ open: "LIBRARY_NOT_FOUND" }, "auto", environment).backend)).toMatchObject(
      {
        kind: "unavailable",
        message: expect.stringContaining("another.so"),
      },
    );
  });
});

describe("--backend cuda", () => {
  it("is an error if there is no GPU", async () => {
    const { backend } = openOn({ open: "LIBRARY_NOT_FOUND" }, "cuda");
    expect(await failureOf(backend)).toMatchObject({
      kind: "unavailable",
      hint: expect.stringContaining("--backend emulated"),
    });
  });
});

describe("--backend emulated", () => {
  it("opens neither the GPU's driver nor its NVML", async () => {
    const { backend, opened } = openOn({}, "emulated");
    expect(await backend).toMatchObject({ name: "emulated", fallbackReason: null });
    expect(opened).toEqual([{ driver: emulatedLibraryPath, nvml: null }]);
  });

  it("uses the NVML of its own library if PINBENCH_EMULATED_NVML is set", async () => {
    const { backend, opened } = openOn({}, "emulated", { PINBENCH_EMULATED_NVML: "plain" });
    expect(await backend).toMatchObject({ name: "emulated", library: emulatedLibraryPath });
    expect(opened).toEqual([{ driver: emulatedLibraryPath, nvml: emulatedLibraryPath }]);
  });

  it.each([
    ["CUDA_ERROR_INVALID_VALUE", /PINBENCH_EMULATED_/],
    ["CUDA_ERROR_OPERATING_SYSTEM", /^Raise the limits/],
    ["LIBRARY_NOT_FOUND", /^Install pinbench again/],
  ])("says what to do about %s", async (code, hint) => {
    const addon: NativeAddon = {
      build: { compiler: "g++", kernels: true, sanitizer: null },
      ...otherFunctions,
      openDriver() {
        throw nativeError(code);
      },
    };
    const backend = openBackend("emulated", { addon, emulatedLibraryPath }, {});
    expect(await failureOf(backend)).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("The emulated device cannot be used"),
      hint: expect.stringMatching(hint),
    });
  });
});

describe("a device's name for other processes", () => {
  const keysOf = async (choice: BackendChoice, machine: Machine, environment: NodeJS.ProcessEnv) => {
    const backend = await openOn(machine, choice).backend;
    return sharedDevices(backend, backend.facts.devices, environment).map(({ key }) => key);
  };

  it("is its UUID, or if the driver reports none, its address on the bus", async () => {
    const uuid = "GPU-6f1c2a54-0000-0000-0000-000000000000";
    const devices = [{ ...deviceFacts, uuid }, deviceFacts];
    expect(await keysOf("cuda", { devices }, {})).toEqual([uuid, "0000-06-00.0"]);
  });

  it("does not exist for an emulated device, which each process has for itself", async () => {
    expect(await keysOf("emulated", {}, {})).toEqual([]);
    expect(await keysOf("emulated", {}, { PINBENCH_EMULATED_SHARED: "" })).toEqual([]);
  });

  it("is the same for every path to the file by which emulated devices are shared", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pinbench-shared-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [file, link, other] = ["file", "link", "other"].map((name) => join(folder, name));
    writeFileSync(file!, "");
    symlinkSync(file!, link!);
    const keys = (path: string) => keysOf("emulated", {}, { PINBENCH_EMULATED_SHARED: path });
    expect(await keys(file!)).toEqual([expect.stringMatching(/^emulated-[0-9a-f]{16}-0$/)]);
    expect(await keys(link!)).toEqual(await keys(file!));
    expect(await keys(other!)).not.toEqual(await keys(file!));
    const { driver, facts } = await openOn({}, "emulated").backend;
    const two = [deviceFacts, { ...deviceFacts, ordinal: 1 }];
    const named = sharedDevices({ driver, facts }, two, { PINBENCH_EMULATED_SHARED: file });
    expect(new Set(named.map(({ key }) => key)).size).toBe(2);
  });

  it("comes with NVML's readings, for an emulated device only if it has an NVML", async () => {
    const shared = { PINBENCH_EMULATED_SHARED: "/nowhere/shared" };
    const { driver, facts } = await openOn({}, "emulated").backend;
    const nvmlOf = (nvmlError: string | null) =>
      sharedDevices({ driver, facts: { ...facts, nvmlError } }, facts.devices, shared)[0]?.nvml;
    expect(nvmlOf("not asked for")).toBeNull();
    expect(nvmlOf(null)).toMatchObject({ readProcesses: expect.any(Function) });
  });

  it("comes with NVML's readings of that device, if it is a real one", async () => {
    const asked: string[] = [];
    const { driver: idle } = await openOn({}, "auto").backend;
    const tell = (what: string) => async (id: string) => {
      asked.push(`${what} of ${id}`);
      return null;
    };
    const driver = { ...idle, readProcesses: tell("processes"), readActivity: tell("activity") };
    const [first, second] = [deviceFacts, { ...deviceFacts, ordinal: 1, pciBusId: "0000:07:00.0" }];
    for (const nvmlError of [null, "it is not there"]) {
      const shared = sharedDevices({ driver, facts: { ...cudaFacts, nvmlError } }, [first, second], {});
      for (const { nvml } of shared) await Promise.all([nvml!.readProcesses(), nvml!.readActivity()]);
    }
    const ofBoth = [first, second].flatMap(({ pciBusId }) => [
      `processes of ${pciBusId}`,
      `activity of ${pciBusId}`,
    ]);
    expect(asked).toEqual([...ofBoth, ...ofBoth]);
  });
});

it.each([
  [[], null],
  [["cuDeviceGetUuid_v2"], null],
  [["cuMemcpyBatchAsync"], "the driver lacks cuMemcpyBatchAsync, which came with CUDA 12.8"],
])(
  "with a driver that lacks %j, batches of blocks are off for this reason (null: they are on): %s",
  (missingSymbols, reason) => {
    expect(batchCopiesOff({ facts: { ...cudaFacts, missingSymbols } } as Backend)).toBe(reason);
  },
);
