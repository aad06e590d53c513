import { describe, expect, it } from "vitest";
import type { Plan } from "../../src/plan/plan.js";
import type { DevicesReport } from "../../src/report/describe-devices.js";
import { emulatedNotice } from "../../src/results/device-facts.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { peerPaths } from "../../src/settings/choices.js";
import { configFile, folderOf } from "../helpers/config.js";
import { callCli, callSmall } from "../helpers/in-process.js";
import {
  cellOf,
  copyFaults,
  emulatedFaults,
  type Finished,
  small,
  temporaryFolder,
  withTimeEnough,
} from "../helpers/run-cli.js";

const hostMemories = ["pageable", "staged", "pinned", "registered", "write-combined", "mapped"] as const;
const kind = ["--memory", "pinned", "--direction", "h2d"];
const devices = (count: number) => ({ PINBENCH_EMULATED_DEVICES: String(count) });

/** Each was measured, six times in each direction. */
function expectMeasured({ cells }: ResultDocument): void {
  for (const { id, outcome, samples, verification } of cells) {
    expect.soft(outcome, id).toMatch(/^(converged|budget)$/);
    for (const { durationNs } of samples) expect.soft(durationNs, id).toHaveLength(6);
    expect.soft(verification?.mismatches, id).toEqual([]);
  }
}

describe("every memory kind in every direction", () => {
  let measured: ReturnType<typeof callSmall> | undefined;
  async function all(): Promise<ResultDocument> {
    const memory = [...hostMemories, "device"].join(",");
    measured ??= callSmall(["--memory", memory, "--direction", "h2d,d2h,bidir,d2d"]);
    return (await measured).document;
  }

  it("is measured and verified as a cell with all of its parameters in its id", async () => {
    const document = await all();
    const [pageable, staged, ...others] = hostMemories;
    // Host memory is the control of pageable and staged copies; copies in both directions at once have none.
    const control = { h2d: ["host"], d2h: ["host"], bidir: [] };
    const routes = (["h2d", "d2h", "bidir"] as const).flatMap((direction) =>
      [pageable, staged, ...control[direction], ...others].map((memory) => `${direction}/${memory}`),
    );
    expect(document.cells.map(({ id }) => id)).toEqual(
      [...routes, "d2d/device"].map((route) => `d0/${route}/65536/w1/throughput/cold`),
    );
    expectMeasured(document);
    for (const { id, verification } of document.cells) {
      expect.soft(verification?.checkedBytes, id).toBeGreaterThanOrEqual(2 * 65536);
    }
  });

  it("has a rate for each direction and, for bidir, their sum; d2d counts bytes read plus written", async () => {
    const document = await all();
    const directionsOf = (direction: "h2d" | "bidir" | "d2d") =>
      document.cells.find((cell) => cell.direction === direction)?.stats.map((stats) => stats.direction);
    expect(directionsOf("h2d")).toEqual(["h2d"]);
    expect(directionsOf("bidir")).toEqual(["h2d", "d2h", "sum"]);
    const [samples] = cellOf(document, { direction: "d2d" }).samples;
    const [stats] = cellOf(document, { direction: "d2d" }).stats;
    const fastest = Math.max(...samples!.durationNs.map((ns) => samples!.bytesPerSample / ns));
    expect(stats?.bandwidthGBps.max).toBeCloseTo(2 * fastest, 6);
  });

  it("is recorded with its kind of pages, and the device with its one-time costs", async () => {
    const document = await all();
    const pagesOf = (memory: "registered" | "pinned") => cellOf(document, { direction: "h2d", memory }).pages;
    expect(pagesOf("registered")).toMatchObject({ kind: "huge", hugePageBytes: expect.any(Number) });
    expect(pagesOf("pinned")?.kind).toBe("base");
    expect(cellOf(document, { direction: "d2d" }).pages?.kind).toBe("device");
    const ns = expect.any(Number);
    const registered = expect.objectContaining({ allocateNs: ns });
    const pinned = { allocateNs: ns, freeNs: ns, hugePageBytes: null };
    const payOff = { pinned: expect.any(Object), registered: expect.any(Object) };
    expect(document.coldStart).toEqual([
      {
        ...{ device: 0, initNs: ns, contextNs: ns, firstCopyNs: ns },
        pinning: [{ sizeBytes: 65536, repetitions: 3, pageable: registered, pinned, registered, payOff }],
      },
    ]);
    expect(document.cells[0]).toMatchObject({ workerKind: "thread", link: null });
    expect(document.devices[0]).toMatchObject({ link: null, linkLimitGBps: null });
  });
});

describe("--mode", () => {
  let measured: ReturnType<typeof callSmall> | undefined;
  async function both(): Promise<ResultDocument> {
    const axes = ["--mode", "throughput,latency", "--workers", "1,2"];
    measured ??= callSmall(["--memory", "pageable,pinned", "--direction", "h2d", ...axes]);
    return (await measured).document;
  }

  it("reports µs of single copies for latency, and the rate of all copies for throughput", async () => {
    const document = await both();
    for (const workers of [1, 2]) {
      const cell = cellOf(document, { memory: "pinned", mode: "latency", workers });
      expect(cell).toMatchObject({ copiesPerSample: 1, samples: [{ bytesPerSample: 65536 }] });
      const { median, p99 } = cell.stats[0]!.latencyUs!;
      expect(p99).toBeGreaterThanOrEqual(median);
    }
    const cell = cellOf(document, { memory: "pinned", mode: "throughput", workers: 2 });
    expect(cell.stats[0]?.latencyUs).toBeNull();
    expect(cell.samples[0]?.bytesPerSample).toBe(2 * cell.copiesPerSample * 65536);
  });

  it("takes N samples a cell with --samples N, and N of each worker for latency", async () => {
    const measured = (await both()).cells.filter(({ outcome }) => outcome !== "skipped");
    const counts = measured.map(({ mode, workers, stats }) => [mode, workers, stats[0]?.samples].join());
    expect(new Set(counts)).toEqual(
      new Set(["throughput,1,6", "throughput,2,6", "latency,1,6", "latency,2,12"]),
    );
  });
});

describe("the samples of a cell", () => {
  it("are taken in interleaved rounds, which the document records", async () => {
    const { document } = await callSmall(["--memory", "pageable,pinned"]);
    expect(document.plan?.rounds).toBe(6);
    const samples = document.cells.flatMap((cell) => cell.samples);
    expect(samples).toHaveLength(4 + 2);
    for (const { round } of samples) expect(round).toEqual([0, 1, 2, 3, 4, 5]);
    const startsOf = (wanted: number) =>
      samples.flatMap(({ startNs, round }) => startNs.filter((_, i) => round[i] === wanted));
    for (const later of [1, 2, 3, 4, 5]) {
      expect(Math.max(...startsOf(later - 1))).toBeLessThan(Math.min(...startsOf(later)));
    }
  });

  it("are taken until the budget ends if the interval is wider than --precision", async () => {
    await withTimeEnough(async (seconds) => {
      const { document } = await callSmall([...kind, "--budget", `${seconds}s`, "--precision", "0.001%"]);
      const [cell] = document.cells;
      expect(document.plan).toMatchObject({
        samplesPerCell: null,
        budgetNs: seconds * 1e9,
        precision: 0.00001,
      });
      expect(cell?.outcome).toBe("budget");
      return cell!.stats[0]!.samples > 6 ? cell : null;
    }, 1);
  });

  it("are 6 at least, even without a budget", async () => {
    const { document } = await callSmall([...kind, "--budget", "0s", "--precision", "50%"]);
    const [stats] = document.cells[0]!.stats;
    expect(document.cells[0]!.outcome).toBe(stats!.relativeHalfWidth! <= 0.5 ? "converged" : "budget");
    expect(stats!.samples).toBe(6);
  });
});

describe("what a result records about a cell", () => {
  it("is its buffers: if cold, twice the last-level cache and two a worker at least; if warm, one", async () => {
    const sizes = ["--workers", "1,2", "--sizes", "64KiB,4MiB", "--cache", "cold,warm"];
    const { document } = await callSmall([...kind, ...sizes]);
    expect(document.cells).toHaveLength(8);
    for (const { workers, sizeBytes, cache, cachePool } of document.cells) {
      const cold = sizeBytes === 65536 ? 32 / workers : 2;
      const buffersPerWorker = cache === "warm" ? 1 : cold;
      expect(cachePool).toEqual({
        ...{ buffersPerWorker, totalBytes: buffersPerWorker * workers * sizeBytes },
        ...{ lastLevelCacheBytes: 2 ** 20, lastLevelCacheSource: "the emulated device" },
      });
    }
  });

  // Left out where memory policies are missing, by this name.
  it("is the requested NUMA node", async () => {
    const { document } = await callSmall(["--memory", "staged", "--numa", "0"]);
    expect(document.plan).toMatchObject({ numa: 0, verify: "last" });
    expect(document.cells.map(({ memory }) => memory)).toEqual(["staged", "host", "staged", "host"]);
    for (const { placement, outcome } of document.cells) {
      expect(outcome).not.toBe("failed");
      expect(placement?.numaNode).toBe(0);
      expect(placement?.cpus.length).toBeGreaterThan(0);
    }
  });
});

describe("the devices of a run", () => {
  it.each([
    ["all", [0, 1]],
    ["1,0,1", [0, 1]],
    ["1", [1]],
    [null, [0]],
  ])("with --device %j are %j, each with its own cells", async (flag, ordinals) => {
    const args = flag === null ? kind : [...kind, "--device", flag];
    const { exitCode, document } = await callSmall(args, devices(2));
    expect(exitCode).toBe(0);
    expect(document.devices.map(({ ordinal }) => ordinal)).toEqual(ordinals);
    expect(document.coldStart.map(({ device }) => device)).toEqual(ordinals);
    expect(document.cells.map(({ id }) => id)).toEqual(
      ordinals.map((device) => `d${device}/h2d/pinned/65536/w1/throughput/cold`),
    );
    expectMeasured(document);
  });

  it("have a header line and a table each", async () => {
    const { stdout } = await callCli(small(...kind, "--device", "all", "--all"), { env: devices(2) });
    expect(stdout).toMatch(/ {2}Device 0 .*\n {2}Link 0 .*\n {2}Device 1 /);
    expect(stdout.match(/Host to device \(H2D\), GB\/s/g)).toHaveLength(2);
  });

  // Six is more than the four threads of Node's pool, which carries out a session's calls.
  it.each([2, 6])("are measured all at the same time and each alone with --together: %i", async (count) => {
    const args = ["--together", "--memory", "pinned", "--direction", "h2d,bidir"];
    const { exitCode, document } = await callSmall(args, devices(count));
    expect(exitCode).toBe(0);
    expectMeasured(document);
    const ordinals = Array.from({ length: count }, (_, ordinal) => ordinal);
    for (const direction of ["h2d", "bidir"]) {
      const cells = document.cells.filter((cell) => cell.direction === direction);
      const expected = ordinals.flatMap((ordinal) => [[ordinal], [ordinal, ordinals]]);
      const found = cells.map(({ device, together }) =>
        together === undefined ? [device] : [device, together],
      );
      expect(found).toEqual(expected);
    }
  });

  it("are listed by pinbench devices with their memory and missing features, also as JSON", async () => {
    const env = { ...devices(2), PINBENCH_EMULATED_MEMORY: "2GiB" };
    const { exitCode, stdout, stderr } = await callCli(["devices", "--backend", "emulated"], { env });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    for (const part of [
      emulatedNotice,
      /\n +0 +pinbench emulated device 0 +eeee:00:00\.0 +2 GiB/,
      /\n +1 +pinbench emulated device 1 +eeee:01:00\.0 +2 GiB/,
      /\n {2}Driver +.*CUDA \d+\.\d/,
      /\n {2}off +link and clocks \(NVML\) +the emulated device has no link\n/,
    ])
      expect(stdout).toMatch(part);
    const json = await callCli(["devices", "--backend", "emulated", "--json"], { env });
    const report = JSON.parse(json.stdout) as DevicesReport;
    expect(report).toMatchObject({ backend: "emulated", notice: emulatedNotice });
    expect(report.devices.map(({ ordinal, totalMemoryBytes }) => [ordinal, totalMemoryBytes])).toEqual([
      [0, 2 ** 31],
      [1, 2 ** 31],
    ]);
  });
});

describe("copies between devices", () => {
  const between = ["--direction", "p2p", "--device", "all"];
  const pathsWith = (outcome: RegExp, { cells }: ResultDocument) =>
    cells
      .filter((cell) => outcome.test(cell.outcome ?? ""))
      .map(({ device, peer, path }) => [device, peer, path]);

  it("are measured and verified for every pair, in both directions, by every path", async () => {
    const { exitCode, document } = await callSmall(between, devices(2));
    expect(exitCode).toBe(0);
    expectMeasured(document);
    expect(pathsWith(/./, document)).toEqual([
      ...peerPaths.map((path) => [0, 1, path]),
      ...peerPaths.map((path) => [1, 0, path]),
    ]);
    for (const { id, verification } of document.cells) {
      expect(verification!.checkedBytes, id).toBeGreaterThan(0);
    }
  });

  it("are measured in one direction only if --cells requests only that", async () => {
    const ids = peerPaths.map((path) => `d0/p2p/device/65536/w1/throughput/cold/to-1/${path}`);
    const args = ["run", "--backend", "emulated", "--samples", "6", "--json", "--cells", ids.join()];
    const { exitCode, stdout } = await callCli(args, { env: devices(2) });
    expect(exitCode).toBe(0);
    const document = parseResult(stdout);
    expect(document.cells.map(({ id }) => id)).toEqual(ids);
    expectMeasured(document);
  });

  it("take only the path through the host if the devices have no access to each other", async () => {
    const { exitCode, document } = await callSmall(between, {
      ...devices(2),
      PINBENCH_EMULATED_PEERS: "none",
    });
    expect(exitCode).toBe(0);
    expect(pathsWith(/^(converged|budget)$/, document)).toEqual([
      [0, 1, "through-host"],
      [1, 0, "through-host"],
    ]);
    const skipped = document.cells.filter(({ outcome }) => outcome === "skipped");
    expect(skipped).toHaveLength(8);
    for (const { skipReason } of skipped) {
      expect(skipReason).toMatch(/^devices [01] and [01] have no access to each other's memory$/);
    }
  });

  it("fail the run with 7 if data come back wrong, and with 4 if the other device has no memory", async () => {
    const wrong = await callSmall(between, { ...devices(2), ...copyFaults("drop", "p2p") });
    expect(wrong.exitCode).toBe(7);
    expect(pathsWith(/^mismatch$/, wrong.document).length).toBeGreaterThan(0);
    // The first six allocations are those of device 0 and of device 1's session itself.
    const full = emulatedFaults("cuMemAlloc_v2:2:nth=7");
    const failed = await callSmall(between, { ...devices(2), ...full });
    expect(failed.exitCode).toBe(4);
    expect(failed.document.cells.map(({ outcome, error }) => [outcome, error?.code])).toEqual(
      Array(10).fill(["failed", "CUDA_ERROR_OUT_OF_MEMORY"]),
    );
  });
});

describe("--verify every", () => {
  const warm = ["--memory", "pinned", "--direction", "h2d,bidir", "--cache", "warm"];
  const every = [...warm, "--verify", "every"];

  it("compares every copy of each cell, and the output says so", async () => {
    const { exitCode, document } = await callSmall(every);
    expect(exitCode).toBe(0);
    expect(document.plan).toMatchObject({ verify: "every", settings: { verify: "every" } });
    for (const { id, copiesPerSample, verification, samples } of document.cells) {
      expect(copiesPerSample, id).toBe(1);
      expect(verification?.copies, id).toBe(6 * samples.length);
      expect(verification?.provenCopies, id).toBe(6 * samples.length);
    }
    expect((await callCli(small(...every, "--all"))).stdout).toContain("every copy was checked");
  });

  it("finds wrong copies of a warm cell even if later copies overwrite them", async () => {
    const { exitCode, document } = await callSmall(every, copyFaults("drop", "h2d"));
    expect(exitCode).toBe(7);
    expect(document.cells.map(({ outcome }) => outcome)).toEqual(["mismatch", "mismatch"]);
  });

  it("makes results that compare only with --allow-mismatch with those of the default", async () => {
    const cwd = temporaryFolder();
    await callCli(small(...kind, "--verify", "every", "--output", "all.json"), { cwd });
    await callCli(small(...kind, "--output", "last.json"), { cwd });
    const { exitCode, stdout } = await callCli(["compare", "last.json", "all.json"], { cwd });
    expect(exitCode).toBe(5);
    expect(stdout).toContain("copies compared");
    const allowed = await callCli(["compare", "last.json", "all.json", "--allow-mismatch"], { cwd });
    expect(allowed.exitCode).not.toBe(5);
  });
});

describe("--cells", () => {
  const run = ["run", "--backend", "emulated", "--samples", "6", "--quiet"];
  const dryRun = [...run, "--dry-run", "--json"];
  /** Two cells that differ in every parameter, and a control: fewer cells than the product of their axes. */
  const pageable = "d0/h2d/pageable/4096/w1/throughput/cold";
  const control = "d0/h2d/host/4096/w1/throughput/cold";
  const pinned = "d0/d2h/pinned/65536/w2/latency/warm";

  function planned({ exitCode, stdout, stderr }: Finished): string[] {
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    return (JSON.parse(stdout) as Plan).cells.map(({ id }) => id);
  }

  it("measures exactly these cells in the order of a plan, and the host control of pageable ones", async () => {
    const { exitCode, stdout } = await callCli([...run, "--json", "--cells", `${pinned},${pageable}`]);
    expect(exitCode).toBe(0);
    const document = parseResult(stdout);
    expect(document.cells.map(({ id }) => id)).toEqual([pageable, control, pinned]);
    expect(document.plan).toMatchObject({ preset: null, numa: "local", cells: 3 });
    for (const { id, stats } of document.cells) expect(stats[0]?.samples, id).toBeGreaterThanOrEqual(6);
    const other = control.replace("4096", "65536");
    expect(planned(await callCli([...dryRun, "--cells", `${pageable},${other}`]))).toEqual([pageable, other]);
  });

  it("overrides the configuration's cells, and keeps its other settings", async () => {
    const plan = { preset: "quick", sizes: "1MiB", memory: "pinned", device: "3", workers: 9, budget: "1s" };
    const cwd = folderOf({
      [configFile]: { plan: { ...plan, mode: "latency", cache: "warm", precision: "7%" } },
    });
    const finished = await callCli([...dryRun, "--cells", `${pageable}, ${pageable}`], { cwd });
    expect(planned(finished)).toEqual([pageable, control]);
    expect(JSON.parse(finished.stdout)).toMatchObject({
      preset: null,
      stopping: { budgetNs: 1e9, precision: 0.07 },
    });
  });
});

it("--value prints one median and nothing else", async () => {
  const cell = ["run", "--backend", "emulated", "--samples", "6", "--value", "h2d pinned 64KiB"];
  const { stdout, stderr, exitCode } = await callCli(cell);
  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  expect(stdout).toMatch(/^\d+(\.\d+)?\n$/);
  expect(await callCli([...cell, "--json"])).toMatchObject({ exitCode: 2, stdout: "" });
});
