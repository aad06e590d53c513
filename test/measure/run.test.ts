import { describe, expect, it, vi } from "vitest";
import type { LoadOptions } from "../../src/native/contract.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { buildHost } from "../helpers/result-document.js";
import { planOf } from "../plan/support.js";
import { devices, runOn, small } from "./run-on.js";
import { FakeSession, MiB, nativeError, withStoppedClock } from "./support.js";

withStoppedClock();

const outcomesOf = ({ cells }: ResultDocument) => cells.map(({ outcome }) => outcome);

describe("a run", () => {
  it("gives a complete document, and closes the session", async () => {
    const session = new FakeSession();
    const document = await runOn(() => session);
    expect(document.run).toMatchObject({ status: "complete", error: null });
    expect(document.cudaVersion).toBe("12.9");
    expect(outcomesOf(document)).toEqual(["converged", "converged"]);
    expect(Object.keys(document.run.load ?? {})).toEqual([
      "stealShare",
      "otherCpuShare",
      "cpuPressureShare",
      "memoryPressureShare",
      "ioPressureShare",
    ]);
    const { need } = planOf({ ...small, devices: [0] }, { devices });
    expect(document.plan).toMatchObject({
      rounds: 6,
      estimatedHostBytes: need.hostBytes,
      estimatedPinnedBytes: need.pinnedBytes,
      estimatedDeviceBytes: need.deviceBytes,
    });
    expect(document.coldStart).toMatchObject([{ device: 0, initNs: 5, contextNs: 1e6, firstCopyNs: 1000 }]);
    expect(session.isClosed).toBe(true);
  });

  it("measures devices one after the other", async () => {
    const sessions: FakeSession[] = [];
    const document = await runOn(
      () => {
        expect(sessions.every(({ isClosed }) => isClosed)).toBe(true);
        sessions.push(new FakeSession());
        return sessions.at(-1)!;
      },
      { selected: [0, 1] },
    );
    expect(sessions).toHaveLength(2);
    expect(document.cells.map(({ device }) => device)).toEqual([0, 0, 1, 1]);
  });

  it("starts a load only on the device that copies beside it, though all are open", async () => {
    let running: number[] = [];
    const started: number[] = [];
    let visits = 0;
    const seen = new Set<string>();
    const document = await runOn(
      (device) => {
        const session = new FakeSession();
        session.beforeMeasure = ({ company }) => {
          seen.add(`${device} ${company === undefined ? "alone" : "together"}, loads: ${running}`);
          return {};
        };
        const startLoad = async ({ hostBytes }: LoadOptions) => {
          started.push(device);
          expect(hostBytes).toBe(4 * 64 * MiB);
          running.push(device);
          return {
            deviceBytes: 0,
            completions: () => {
              ++visits;
              return { atNs: new Float64Array(), unitsEach: 1 };
            },
            stop: async () => {
              running = running.filter((other) => other !== device);
            },
          };
        };
        return Object.assign(session, { startLoad: startLoad as () => Promise<never> });
      },
      {
        selected: [0, 1],
        plan: { memory: ["pinned"], together: true, besides: ["host"], samplesPerCell: 1 },
      },
    );
    expect(document.cells.map(({ outcome }) => outcome)).not.toContain("failed");
    expect(started).toEqual([0, 1]);
    // Nothing is learned of a load while a cell is calibrated.
    expect(visits).toBe(2);
    expect([...seen].sort()).toEqual([
      "0 alone, loads: ",
      "0 alone, loads: 0",
      "0 together, loads: ",
      "1 alone, loads: ",
      "1 alone, loads: 1",
      "1 together, loads: ",
    ]);
  });

  it.each([[[0, 1]], [[0, 1, 2]]])("gives the devices %j equal shares of the budget", async (selected) => {
    const unsteady = () => new FakeSession((_, sample) => (sample % 2 === 0 ? 100_000 : 200_000));
    const shareNs = 1e9;
    const document = await runOn(unsteady, {
      selected,
      plan: { memory: ["pageable"], samplesPerCell: null, budgetNs: selected.length * shareNs },
    });
    expect(outcomesOf(document)).toEqual(selected.map(() => "budget"));
    for (const { device, samples } of document.cells) {
      const measuredNs = samples[0]!.durationNs.reduce((sum, ns) => sum + ns, 0);
      expect(measuredNs / shareNs, `device ${device}`).toBeGreaterThan(0.9);
      // Later devices get what an earlier one leaves of its share.
      expect(measuredNs / shareNs, `device ${device}`).toBeLessThan(1.1);
    }
  });

  it("records the start-up cost and the link of each chosen device by its number", async () => {
    const document = await runOn(
      (device) => {
        const session = new FakeSession();
        Object.assign(session.opening, { contextNs: 1e6 * (device + 1) });
        const rest = { maxGeneration: 5, maxWidth: 16, smClockMHz: null, memoryClockMHz: null };
        // The first cell's copies were over before the generation could be read.
        session.beforeMeasure = ({ readLink, memory }) => {
          const generation = memory === "device" ? 3 + device : null;
          return readLink ? { link: { generation, width: 8 * device, ...rest } } : {};
        };
        return Object.assign(session, { measureFirstCopy: async () => 1000 * device });
      },
      {
        selected: [1, 2],
        plan: { memory: ["pinned", "registered", "device"], directions: ["h2d", "d2d"], workers: [2] },
      },
    );
    expect(document.devices).toMatchObject([
      { ordinal: 1, link: { generation: 4, width: 8 }, linkLimitGBps: expect.closeTo(15.75, 1) },
      { ordinal: 2, link: { generation: 5, width: 16 }, linkLimitGBps: expect.closeTo(63, 0) },
    ]);
    expect(document.coldStart).toMatchObject([
      { device: 1, contextNs: 2e6, firstCopyNs: 1000 },
      { device: 2, contextNs: 3e6, firstCopyNs: 2000 },
    ]);
    const pools = document.cells.map(({ device, pages, cachePool }) => [
      ...[device, pages?.kind, cachePool?.lastLevelCacheBytes, cachePool?.lastLevelCacheSource],
      cachePool?.totalBytes,
    ]);
    const { lastLevelCacheBytes, lastLevelCacheSource } = buildHost();
    const host = [lastLevelCacheBytes, lastLevelCacheSource, 2 * MiB];
    expect(pools).toEqual([
      [1, "base", ...host],
      [1, "huge", ...host],
      [1, "device", 2 * MiB, "device L2", 2 * MiB],
      [2, "base", ...host],
      [2, "huge", ...host],
      [2, "device", 3 * MiB, "device L2", 2 * MiB],
    ]);
  });

  it("is refused if a device of several has less memory free than its part of the plan takes", async () => {
    const given = { together: true, memory: ["pinned"], sizesBytes: [64 * MiB] } as const;
    const { need } = planOf({ ...small, ...given, devices: [0, 1] }, { devices });
    const open = (device: number) =>
      Object.assign(new FakeSession(), { freeBytes: need.deviceBytes - device * MiB });
    await expect(runOn(open, { selected: [0, 1], plan: given })).rejects.toMatchObject({
      message: expect.stringContaining("of the memory of device 1 (a device)"),
    });
  });

  it("is refused if the device has less memory free than the plan takes, and closes the session", async () => {
    const session = new FakeSession();
    session.freeBytes = MiB / 2;
    await expect(runOn(() => session)).rejects.toMatchObject({
      kind: "limit",
      message: expect.stringMatching(
        /^The plan takes \d+ MiB of the memory of device 0 \(a device\), of which only 512 KiB are free\.$/,
      ),
      hint: "Ask for smaller sizes, fewer workers or --cache warm, or free the device.",
    });
    expect(session).toMatchObject({ isClosed: true, requests: [] });
  });

  it("skips cells that need kernels if the opened device turns out to have none", async () => {
    const session = new FakeSession();
    Object.assign(session.opening, { kernelsOff: "the driver is too old for the kernels" });
    const { cells } = await runOn(() => session, { plan: { memory: ["pageable", "mapped", "system"] } });
    expect(cells.map(({ memory, skipReason }) => [memory, skipReason])).toEqual([
      ["pageable", null],
      ["mapped", "the driver is too old for the kernels"],
      ["system", "the driver is too old for the kernels"],
    ]);
  });

  it.each([
    ["h2d", [0, 1, 2]],
    ["bidir", [0, 2, 4]],
  ] as const)("gives devices that copy %s together flows of their own", async (direction, flows) => {
    const sessions = devices.map(() => new FakeSession());
    const given = { together: true, directions: [direction], memory: ["pinned"] } as const;
    const reset = vi.fn();
    await runOn((device) => sessions[device]!, { selected: [0, 1, 2], plan: given, rendezvous: { reset } });
    const all = Array(direction === "bidir" ? 6 : 3).fill(1);
    expect(reset.mock.calls).toEqual(Array(6).fill([all]));
    const begun = sessions.map(({ visits }) => visits.flatMap(({ company }) => company?.flow ?? []));
    expect(begun).toEqual(flows.map((flow) => Array(6).fill(flow)));
  });

  it("ends the copies of the other devices if a device that copies together with them fails", async () => {
    const given = { together: true, memory: ["pinned"] } as const;
    const cancel = vi.fn();
    const open = (end: () => void) => (device: number) => {
      const session = new FakeSession();
      session.beforeMeasure = ({ company }) => {
        if (company !== undefined && device === 1) end();
        return { aborted: session.isAborted };
      };
      return session;
    };
    const failing = open(() => {
      throw nativeError("CUDA_ERROR_UNKNOWN");
    });
    await runOn(failing, { selected: [0, 1], plan: given, rendezvous: { cancel } });
    expect(cancel).toHaveBeenCalledTimes(1);
    const controller = new AbortController();
    const aborting = open(() => controller.abort());
    const { signal } = controller;
    await runOn(aborting, { selected: [0, 1], plan: given, rendezvous: { cancel }, signal });
    expect(cancel).toHaveBeenCalledTimes(2);
  });

  it("has failed if a device cannot be opened; its cells have no outcome, other devices are measured", async () => {
    const document = await runOn(
      (device) => {
        if (device === 0) throw nativeError("CUDA_ERROR_DEVICE_UNAVAILABLE");
        if (device === 2) throw nativeError("CUDA_ERROR_UNKNOWN");
        return new FakeSession();
      },
      { selected: [0, 1, 2] },
    );
    expect(document.run).toMatchObject({
      status: "failed",
      error: { code: "CUDA_ERROR_DEVICE_UNAVAILABLE" },
    });
    expect(outcomesOf(document)).toEqual([null, null, "converged", "converged", null, null]);
    expect(document.plan?.rounds).toBe(6);
  });

  it("counts as aborted, not failed, if an interruption follows the failure of a device", async () => {
    const controller = new AbortController();
    const document = await runOn(
      (device) => {
        if (device === 0) throw nativeError("CUDA_ERROR_DEVICE_UNAVAILABLE");
        controller.abort();
        return new FakeSession();
      },
      { selected: [0, 1], signal: controller.signal },
    );
    expect(document.run).toMatchObject({ status: "aborted", error: null });
  });

  it("fails as a whole, without opening further devices, if an error ends the process", async () => {
    const opened: number[] = [];
    const document = await runOn(
      (device) => {
        opened.push(device);
        throw nativeError("CUDA_ERROR_ILLEGAL_ADDRESS", true);
      },
      { selected: [0, 1] },
    );
    expect(document.run.status).toBe("failed");
    expect(opened).toEqual([0]);
    opened.length = 0;
    const { run } = await runOn(
      (device) => {
        opened.push(device);
        const session = new FakeSession();
        session.beforeMeasure = () => {
          throw nativeError("CUDA_ERROR_ECC_UNCORRECTABLE", true);
        };
        return session;
      },
      { selected: [0, 1] },
    );
    expect(run).toMatchObject({ status: "failed", error: { code: "CUDA_ERROR_ECC_UNCORRECTABLE" } });
    expect(opened).toEqual([0]);
  });

  it("of copies within host memory alone allocates no device memory", async () => {
    const session = new FakeSession();
    const reserveDevice = vi.spyOn(session, "reserveDevice").mockRejectedValue(nativeError("NO_MEMORY"));
    const plan = { memory: ["host"], caches: ["cold"] } as const;
    const reserveStaging = vi.spyOn(session, "reserveStaging");
    expect(outcomesOf(await runOn(() => session, { plan }))).toEqual(["converged"]);
    expect(reserveDevice).not.toHaveBeenCalled();
    expect(reserveStaging).toHaveBeenCalledWith({
      workers: 1,
      slots: 3,
      chunkBytes: 2 * MiB,
      hostSlots: 3,
      hostChunkBytes: 2 * MiB,
    });
  });

  it("fails only copies within host memory if their buffers cannot be allocated", async () => {
    const session = new FakeSession();
    vi.spyOn(session, "reserveStaging").mockRejectedValue(nativeError("CUDA_ERROR_OUT_OF_MEMORY"));
    const plan = { memory: ["pageable"], caches: ["cold"] } as const;
    const { cells } = await runOn(() => session, { plan });
    expect(cells.map(({ memory, outcome }) => [memory, outcome])).toEqual([
      ["pageable", "converged"],
      ["host", "failed"],
    ]);
  });

  it("that is aborted keeps its results so far, and aborts and closes the session", async () => {
    const controller = new AbortController();
    const session = new FakeSession();
    session.beforeMeasure = () => {
      if (session.visits.length === 3) controller.abort();
      return { aborted: session.isAborted };
    };
    const document = await runOn(() => session, { selected: [0, 1], signal: controller.signal });
    expect(session).toMatchObject({ isAborted: true, isClosed: true });
    expect(document.run.status).toBe("aborted");
    expect(document.cells.map(({ outcome, stats }) => [outcome, stats[0]?.samples])).toEqual([
      [null, 1],
      [null, 1],
      [null, undefined],
      [null, undefined],
    ]);
  });
});
