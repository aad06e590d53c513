import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { usableCpuCount } from "../../src/host/cpus.js";
import { WorkerPool } from "../../src/measure/worker-pool.js";
import { WorkerProcess } from "../../src/measure/worker-process.js";
import type { MeasureRequest } from "../../src/native/contract.js";
import { loadAddon } from "../../src/native/load.js";
import type { PlannedArenas } from "../../src/plan/geometry.js";
import { measureRequest } from "../helpers/measure-request.js";
import { isRunning, untilInSlowCopy } from "../helpers/processes.js";
import { emulatedFaults, pinbench, temporaryFolder } from "../helpers/run-cli.js";
import { KiB, MiB } from "./support.js";

const { createRendezvous } = loadAddon().addon;
const pools: WorkerPool[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

/** The first worker has twice the memory of the others. */
function arenasOf(count: number): PlannedArenas[] {
  return Array.from({ length: count }, (_, index) => {
    const geometry = { chunksOfWorker: index === 0 ? [2, 2] : [1, 1], chunkBytes: 2 * MiB };
    return {
      host: { pinned: geometry, pageable: geometry },
      device: geometry,
      deviceCopies: 1,
      staging: { workers: 1, slots: 2, chunkBytes: 64 * KiB, hostSlots: 0, hostChunkBytes: 0 },
      gatherBytes: 0,
      blocks: { listed: 0, all: 0 },
    };
  });
}

/** Worker processes on the emulated device, which start in this process' environment. */
function startPool(count: number, freeBytes: () => number = () => 0, entry = pinbench): WorkerPool {
  const pool = new WorkerPool({
    entry,
    backend: "emulated",
    session: { device: 0, cpus: [], threads: usableCpuCount(), numaNode: null },
    arenas: arenasOf(count),
    rendezvous: createRendezvous(),
    openedAtNs: 0,
    freeBytes,
  });
  pools.push(pool);
  return pool;
}

async function openPool(count: number): Promise<WorkerPool> {
  const pool = startPool(count);
  await pool.open();
  return pool;
}

const request = (part: Partial<MeasureRequest> = {}): MeasureRequest =>
  measureRequest({ sizeBytes: 64 * KiB, copiesPerSample: 4, ...part });
/** Copies that the emulated device takes very long for. */
const slow = { cache: "warm", buffers: 1, sizeBytes: 2 * MiB, warmupBytes: 2 * MiB } as const;

const untilGone = (pids: readonly number[]) =>
  vi.waitFor(() => expect(pids.filter(isRunning)).toEqual([]), { timeout: 10_000, interval: 20 });

describe("worker processes", () => {
  it("copy together for each sample, and verify what each of them copied", async () => {
    const pool = await openPool(3);
    expect(new Set(pool.pids).size).toBe(3);
    const result = await pool.measure(request({ workers: 3 }));
    expect(result).toMatchObject({ aborted: false, verification: { mismatches: [] } });
    expect(result.verification.checkedBytes).toBe(3 * 4 * 64 * KiB);
    expect(result.columns.map(({ direction, durationNs }) => [direction, durationNs.length])).toEqual([
      ["h2d", 3],
    ]);
    const nowNs = Number(process.hrtime.bigint());
    const [{ startNs, durationNs }] = result.columns as [(typeof result.columns)[0]];
    for (const [i, start] of startNs.entries()) {
      expect(start + durationNs[i]!).toBeLessThan(startNs[i + 1] ?? nowNs);
      expect(start).toBeGreaterThan(nowNs - 60e9);
    }
  });

  it("report a sample for each direction, and in latency mode one for each worker", async () => {
    const pool = await openPool(2);
    const both = await pool.measure(request({ workers: 2, direction: "bidir" }));
    expect(both.columns.map(({ direction, durationNs }) => [direction, durationNs.length])).toEqual([
      ["h2d", 3],
      ["d2h", 3],
    ]);
    const latency = await pool.measure(request({ workers: 2, mode: "latency", copiesPerSample: 1 }));
    expect(latency.columns[0]!.durationNs).toHaveLength(6);
  });

  it("report how long their start took, and the memory that they take", async () => {
    vi.stubEnv("PINBENCH_EMULATED_CONTEXT", "8MiB");
    const free = [100 * MiB, 84 * MiB];
    const pool = startPool(2, () => free.shift()!);
    await pool.open();
    expect(pool.costs).toMatchObject({ device: 0, processes: 2, contextDeviceBytes: 8 * MiB });
    expect(pool.costs!.startNs).toBeGreaterThan(pool.costs!.contextNs);
    // The first has 2 chunks for each of two threads, the other 1.
    expect(pool.arena("pinned")).toEqual({ bytes: 6 * 2 * MiB, hugePageBytes: null });
    expect(pool.arena("registered")).toBeNull();
  });

  it("name the worker process whose call failed", async () => {
    const pool = await openPool(2);
    const [, second] = pool.pids;
    // Only the first has memory for this many.
    await expect(pool.measure(request({ workers: 2, buffers: 64 }))).rejects.toMatchObject({
      message: `worker process 2 of 2 (pid ${second}): the memory reserved is too small for this cell`,
      code: "NOT_RESERVED",
    });
    const result = await pool.measure(request({ workers: 1, buffers: 64 }));
    expect(result.aborted).toBe(false);
  });
});

describe("a worker process that lacks what it needs", () => {
  it("fails only the cells that need this worker, if the device has no memory left", async () => {
    vi.stubEnv("PINBENCH_EMULATED_SHARED", `${temporaryFolder()}/devices`);
    vi.stubEnv("PINBENCH_EMULATED_MEMORY", "256MiB");
    vi.stubEnv("PINBENCH_EMULATED_CONTEXT", "100MiB");
    const pool = await openPool(3);
    expect(pool.pids).toHaveLength(2);
    expect(pool.costs).toMatchObject({ processes: 2 });
    expect((await pool.measure(request({ workers: 2 }))).aborted).toBe(false);
    await expect(pool.measure(request({ workers: 3 }))).rejects.toMatchObject({
      message: expect.stringMatching(/^worker process \d of 3 \(pid \d+\): cuDevicePrimaryCtxRetain\b/),
      code: "CUDA_ERROR_OUT_OF_MEMORY",
    });
  });

  it("fails the cells of the memory kind that it lacks", async () => {
    vi.stubEnv("PINBENCH_EMULATED_PINNED_LIMIT", "64KiB");
    const pool = await openPool(1);
    for (const memory of ["pinned", "staged"] as const) {
      const lacking = { code: "CUDA_ERROR_OUT_OF_MEMORY" };
      await expect(pool.measure(request({ memory })), memory).rejects.toMatchObject(lacking);
    }
    expect((await pool.measure(request({ memory: "pageable" }))).aborted).toBe(false);
  });

  it("fails all cells if the program does not start", async () => {
    vi.stubEnv("PINBENCH_ADDON", "/no/such/addon.node");
    const pool = await openPool(1);
    await expect(pool.measure(request())).rejects.toThrow(/^worker process 1 of 1 \(pid \d+\): /);
    expect(pool.costs).toBeNull();
  });

  it("fails all cells if the program ends, and says how", async () => {
    const program = join(temporaryFolder(), "program.mjs");
    writeFileSync(program, "process.exitCode = 3; process.disconnect();");
    const pool = startPool(1, undefined, program);
    await pool.open();
    await expect(pool.measure(request())).rejects.toMatchObject({
      message: expect.stringMatching(/^worker process 1 of 1 \(pid \d+\) ended with exit code 3$/),
      code: "WORKER_PROCESS_ENDED",
    });
  });

  it("fails all cells if the system starts no process", async () => {
    const { execPath } = process;
    process.execPath = "/no/such/node";
    const pool = startPool(2);
    process.execPath = execPath;
    await pool.open();
    await expect(pool.measure(request())).rejects.toMatchObject({
      message: expect.stringMatching(/^worker process 1 of 2 did not start \(ENOENT\): /),
      code: "WORKER_PROCESS_NOT_STARTED",
    });
    await pool.close();
  });

  it("is not used again if its context is lost; the other workers go on", async () => {
    vi.stubEnv(
      "PINBENCH_EMULATED_FAULTS",
      emulatedFaults("cuMemcpyHtoDAsync_v2:700:nth=3").PINBENCH_EMULATED_FAULTS,
    );
    const pool = await openPool(2);
    const pids = pool.pids;
    // The error counts for this cell (not sticky), so that it does not end the run.
    await expect(pool.measure(request({ workers: 1 }))).rejects.toMatchObject({
      code: "CUDA_ERROR_ILLEGAL_ADDRESS",
      sticky: false,
    });
    expect(pool.pids).toEqual([pids[1]]);
    await untilGone([pids[0]!]);
    await expect(pool.measure(request({ workers: 2 }))).rejects.toThrow(
      `worker process 1 of 2 (pid ${pids[0]})`,
    );
  });
});

describe("a worker process that is killed", () => {
  const killed = (index: number, count: number, pid: number) =>
    `worker process ${index} of ${count} (pid ${pid}) was killed by SIGKILL, most likely because memory ran out, ` +
    "see the kernel log (dmesg): ask for fewer workers or smaller sizes";

  it("at its start fails the cells that need it, and no others", async () => {
    const pool = startPool(2);
    const [first] = pool.pids;
    process.kill(first!, "SIGKILL");
    await pool.open();
    await expect(pool.measure(request({ workers: 2 }))).rejects.toThrow(killed(1, 2, first!));
    expect((await pool.measure(request())).aborted).toBe(false);
  });

  it("in the middle of a copy does not block the others, and fails later cells that need it", async () => {
    vi.stubEnv("PINBENCH_EMULATED_FAULTS", emulatedFaults("h2d:slow=1000").PINBENCH_EMULATED_FAULTS);
    const pool = await openPool(3);
    const [first, second] = pool.pids;
    const measured = pool.measure(request({ ...slow, workers: 3 }));
    const failed = expect(measured).rejects.toThrow(killed(1, 3, first!));
    await untilInSlowCopy(second!);
    process.kill(first!, "SIGKILL");
    await failed;
    expect(pool.pids).toHaveLength(2);
    await expect(pool.measure(request({ workers: 3 }))).rejects.toThrow(killed(1, 3, first!));
  });

  it("between two cells makes the next cell that needs it fail", async () => {
    const pool = await openPool(2);
    const [first, second] = pool.pids;
    process.kill(second!, "SIGKILL");
    await vi.waitFor(() => expect(pool.pids).toEqual([first]));
    await expect(pool.measure(request({ workers: 2 }))).rejects.toThrow(killed(2, 2, second!));
    expect((await pool.measure(request({ workers: 1 }))).aborted).toBe(false);
  });
});

describe("ending worker processes", () => {
  it("leaves none of them running", async () => {
    const pool = await openPool(2);
    const { pids } = pool;
    expect(pids.filter(isRunning)).toHaveLength(2);
    await pool.close();
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it("leaves none of them running if one does not answer, with and without an abort", async () => {
    const expectEnd = async (isAborted: boolean) => {
      const pool = await openPool(2);
      const { pids } = pool;
      process.kill(pids[0]!, "SIGSTOP");
      const closed = pool.close();
      if (isAborted) pool.abort();
      await closed;
      await untilGone(pids);
    };
    await Promise.all([expectEnd(false), expectEnd(true)]);
  });

  it("by an abort ends the running measurement and every later one", async () => {
    const pool = await openPool(2);
    const measured = pool.measure(request({ workers: 2, samples: 1e6 }));
    await sleep(100);
    pool.abort();
    expect(await measured).toMatchObject({ aborted: true, columns: [] });
    expect(await pool.measure(request({ workers: 2 }))).toMatchObject({ aborted: true, columns: [] });
  });

  it("by an abort while one opens rejects its later calls", async () => {
    const worker = new WorkerProcess(pinbench, { index: 0, count: 1 });
    onTestFinished(() => worker.close(false));
    const session = { device: 0, cpus: [], threads: 1, numaNode: null, seed: 1 };
    const opened = worker.call("open", { backend: "emulated", session });
    worker.abort();
    await opened;
    const reserved = worker.call("reserveHost", "pinned", arenasOf(1)[0]!.device);
    await expect(reserved).rejects.toMatchObject({ code: "ABORTED" });
  });

  it("by an abort works even if the driver does not return", async () => {
    vi.stubEnv("PINBENCH_EMULATED_FAULTS", emulatedFaults("h2d:slow=1000").PINBENCH_EMULATED_FAULTS);
    const pool = await openPool(1);
    const { pids } = pool;
    const measured = pool.measure(request({ ...slow, copiesPerSample: 128, warmupCopies: 64 }));
    await untilInSlowCopy(pids[0]!);
    pool.abort();
    expect(await measured).toMatchObject({ aborted: true });
    await pool.close();
    expect(pids.filter(isRunning)).toEqual([]);
  });
});
