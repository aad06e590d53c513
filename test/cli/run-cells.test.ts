import { beforeAll, describe, expect, it } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { callCli } from "../helpers/in-process.js";
import { cellOf, small, withTimeEnough } from "../helpers/run-cli.js";

const hostMemories = ["pageable", "staged", "pinned", "registered", "write-combined", "mapped"] as const;

/** Host memory, the control of pageable and staged copies, which both directions at once do not have. */
const control = { h2d: ["host"], d2h: ["host"], bidir: [] } as const;
/** `pinbench run` of the small sweep, and the document that it prints. */
async function measure(
  args: readonly string[],
): Promise<{ exitCode: number | null; document: ResultDocument }> {
  const { exitCode, stdout } = await callCli(small(...args, "--json"));
  return { exitCode, document: parseResult(stdout) };
}

const kind = ["--memory", "pinned", "--direction", "h2d"];

describe("every memory kind in every direction", () => {
  let document: ResultDocument;
  beforeAll(async () => {
    const memory = [...hostMemories, "device"].join(",");
    ({ document } = await measure(["--memory", memory, "--direction", "h2d,d2h,bidir,d2d"]));
  });

  it("is a cell whose id carries all of its parameters", () => {
    const [pageable, staged, ...others] = hostMemories;
    const routes = (["h2d", "d2h", "bidir"] as const).flatMap((direction) =>
      [pageable, staged, ...control[direction], ...others].map((memory) => `${direction}/${memory}`),
    );
    expect(document.cells.map(({ id }) => id)).toEqual(
      [...routes, "d2d/device"].map((route) => `d0/${route}/65536/w1/throughput/wall/cold`),
    );
  });

  it("is measured, and every byte that it wrote came back right", () => {
    expect(document.cells).toHaveLength(3 * hostMemories.length + 2 + 1);
    for (const { id, outcome, verification, samples } of document.cells) {
      expect.soft(outcome, id).toMatch(/^(converged|budget)$/);
      expect.soft(verification?.mismatches, id).toEqual([]);
      expect.soft(verification?.checkedBytes, id).toBeGreaterThanOrEqual(2 * 65536);
      for (const { durationNs } of samples) expect.soft(durationNs, id).toHaveLength(6);
    }
  });

  it("has a rate a direction, and for bidir their sum as well", () => {
    const directionsOf = (direction: "h2d" | "bidir" | "d2d") =>
      document.cells.find((cell) => cell.direction === direction)?.stats.map((stats) => stats.direction);
    expect(directionsOf("h2d")).toEqual(["h2d"]);
    expect(directionsOf("bidir")).toEqual(["h2d", "d2h", "sum"]);
    expect(directionsOf("d2d")).toEqual(["d2d"]);
  });

  it("counts bytes read plus written for d2d", () => {
    const [samples] = cellOf(document, { direction: "d2d" }).samples;
    const [stats] = cellOf(document, { direction: "d2d" }).stats;
    const fastest = Math.max(...samples!.durationNs.map((ns) => samples!.bytesPerSample / ns));
    expect(stats?.bandwidthGBps.max).toBeCloseTo(2 * fastest, 6);
  });

  it("asks for huge pages if it registers, and says how many it got", () => {
    expect(cellOf(document, { direction: "h2d", memory: "registered" }).pages).toMatchObject({
      kind: "huge",
      hugePageBytes: expect.any(Number),
    });
    expect(cellOf(document, { direction: "h2d", memory: "pinned" }).pages?.kind).toBe("base");
    expect(cellOf(document, { direction: "d2d" }).pages?.kind).toBe("device");
  });

  it("is accompanied by what the device costs once", () => {
    expect(document.coldStart).toEqual([
      {
        device: 0,
        initNs: expect.any(Number),
        contextNs: expect.any(Number),
        firstCopyNs: expect.any(Number),
        pinning: [
          {
            sizeBytes: 65536,
            repetitions: 3,
            pageable: expect.objectContaining({ allocateNs: expect.any(Number) }),
            pinned: { allocateNs: expect.any(Number), freeNs: expect.any(Number), hugePageBytes: null },
            registered: expect.objectContaining({ allocateNs: expect.any(Number) }),
            payOff: { pinned: expect.any(Object), registered: expect.any(Object) },
          },
        ],
      },
    ]);
  });
});

describe("modes and timers", () => {
  let document: ResultDocument;
  beforeAll(async () => {
    const axes = ["--mode", "throughput,latency", "--timer", "wall,event", "--workers", "1,2"];
    ({ document } = await measure(["--memory", "pageable,pinned", "--direction", "h2d", ...axes]));
  });

  it("gives microseconds in latency mode, one copy a sample and worker", () => {
    for (const workers of [1, 2]) {
      const cell = cellOf(document, { memory: "pinned", mode: "latency", timer: "wall", workers });
      expect(cell.copiesPerSample).toBe(1);
      expect(cell.samples[0]?.bytesPerSample).toBe(65536);
      expect(cell.stats[0]?.latencyUs?.p99).toBeGreaterThanOrEqual(cell.stats[0]?.latencyUs?.median ?? 0);
    }
  });

  it("gives no microseconds in throughput mode, whose samples are of all workers and copies", () => {
    const cell = cellOf(document, { memory: "pinned", mode: "throughput", timer: "wall", workers: 2 });
    expect(cell.stats[0]?.latencyUs).toBeNull();
    expect(cell.samples[0]?.bytesPerSample).toBe(2 * cell.copiesPerSample * 65536);
  });

  it("takes --samples N literally: N a cell, and in latency mode N of each worker", () => {
    const counts = document.cells
      .filter(({ outcome }) => outcome !== "skipped")
      .map(({ mode, workers, stats }) => [mode, workers, stats[0]?.samples]);
    expect(new Set(counts.map(String))).toEqual(
      new Set(["throughput,1,6", "throughput,2,6", "latency,1,6", "latency,2,12"]),
    );
  });

  it("holds at most 128 copies on a stream for the event timer", () => {
    const cells = document.cells.filter(
      ({ timer, mode, outcome }) => timer === "event" && mode === "throughput" && outcome !== "skipped",
    );
    expect(cells.map(({ memory, workers }) => [memory, workers])).toEqual([
      ["pinned", 1],
      ["pinned", 2],
    ]);
    for (const { copiesPerSample } of cells) expect(copiesPerSample).toBeLessThanOrEqual(128);
  });

  it("skips the event timer if the host takes part in the copy, and says why", () => {
    const cells = document.cells.filter(({ memory, timer }) => memory === "pageable" && timer === "event");
    expect(cells.map(({ mode, workers }) => [mode, workers])).toEqual([
      ["throughput", 1],
      ["throughput", 2],
      ["latency", 1],
      ["latency", 2],
    ]);
    for (const cell of cells) {
      expect(cell).toMatchObject({ outcome: "skipped", samples: [], stats: [] });
      expect(cell.skipReason).toContain("the host takes part in pageable copies");
    }
  });
});

describe("samples", () => {
  it("are taken in interleaved rounds, which the document records", async () => {
    const { document } = await measure(["--memory", "pageable,pinned"]);
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

  it("go on within the budget until the interval is as narrow as asked", async () => {
    await withTimeEnough(async (seconds) => {
      const { document } = await measure([...kind, "--budget", `${seconds}s`, "--precision", "0.001%"]);
      const [cell] = document.cells;
      const budgetNs = seconds * 1e9;
      expect(document.plan).toMatchObject({ samplesPerCell: null, budgetNs, precision: 0.00001 });
      expect(cell?.outcome).toBe("budget");
      return cell!.stats[0]!.samples > 6 ? cell : null;
    }, 1);
  });

  it("stop if they have converged, and are 6 at least", async () => {
    const { document } = await measure([...kind, "--budget", "0s", "--precision", "50%"]);
    const [cell] = document.cells;
    const halfWidth = cell?.stats[0]?.relativeHalfWidth ?? 1;
    expect(cell?.outcome).toBe(halfWidth <= 0.5 ? "converged" : "budget");
    expect(cell?.stats[0]?.samples).toBe(6);
  });
});

describe("the cache state", () => {
  it("is cold by default: buffers of twice the last-level cache in all, and at least two a worker", async () => {
    const { document } = await measure([...kind, "--workers", "1,2", "--sizes", "64KiB,4MiB"]);
    expect(document.cells).toHaveLength(4);
    for (const { workers, sizeBytes, cachePool } of document.cells) {
      const buffersPerWorker = sizeBytes === 65536 ? 32 / workers : 2;
      expect(cachePool).toEqual({
        buffersPerWorker,
        totalBytes: buffersPerWorker * workers * sizeBytes,
        lastLevelCacheBytes: 2 ** 20,
        lastLevelCacheSource: "--llc",
      });
    }
  });

  it("is warm if one buffer is used again and again", async () => {
    const { document } = await measure([...kind, "--cache", "cold,warm"]);
    expect(cellOf(document, { cache: "warm" }).cachePool?.buffersPerWorker).toBe(1);
    expect(cellOf(document, { cache: "cold" }).cachePool?.buffersPerWorker).toBe(32);
  });
});

describe("what is recorded of how it was measured", () => {
  it("is the seed, the staging ring and the NUMA node that were asked for", async () => {
    const staging = ["--memory", "staged", "--staging-chunk", "16KiB", "--staging-slots", "4"];
    const { document } = await measure([...staging, "--seed", "7", "--numa", "0"]);
    expect(document.plan).toMatchObject({ seed: 7, staging: { chunkBytes: 16384, slots: 4 }, verify: true });
    expect(document.cells.map(({ memory }) => memory)).toEqual(["staged", "host", "staged", "host"]);
    for (const { placement, outcome } of document.cells) {
      expect(outcome).not.toBe("failed");
      expect(placement?.numaNode).toBe(0);
      expect(placement?.cpus.length).toBeGreaterThan(0);
    }
  });

  it("is the thread, its waiting and the pages of every cell", async () => {
    const { document } = await measure([...kind]);
    expect(document.cells[0]).toMatchObject({ workerKind: "thread", syncMode: "spin", link: null });
    expect(document.devices[0]).toMatchObject({ link: null, linkLimitGBps: null });
  });
});
