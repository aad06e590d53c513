import { describe, expect, it } from "vitest";
import { intervalBetween, mergeProcesses } from "../../src/measure/merge-processes.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import type { ResultDocument } from "../../src/results/schema.js";
import {
  buildCell,
  buildDevice,
  buildDistribution,
  buildDocument,
  buildLink,
  MiB,
} from "../helpers/result-document.js";
import { schemaErrors } from "../helpers/schema-errors.js";

const planned = buildDocument({ cells: [buildCell({ memory: "pageable" }), buildCell()] });

/** A process that measured the pageable cell at this rate, and the pinned one at three times of it. */
function processAt(GBps: number, changes: Partial<CellResult> = {}): ResultDocument {
  const pageable = buildCell({ memory: "pageable", GBps });
  return buildDocument({ cells: [{ ...pageable, ...changes }, buildCell({ GBps: 3 * GBps })] });
}

function merge(...processes: ResultDocument[]): ResultDocument {
  const document = mergeProcesses(planned, processes);
  expect(schemaErrors(JSON.parse(JSON.stringify(document)))).toBeNull();
  return document;
}

describe("the interval between processes", () => {
  it("needs three processes or more", () => {
    expect(intervalBetween([10, 11])).toBeNull();
    expect(intervalBetween([10, 11, 12])).not.toBeNull();
    expect(intervalBetween([10, 0, 12])).toBeNull();
  });

  it("uses Student's t on logarithms for fewer than six processes", () => {
    const { low, high } = intervalBetween([8, 10, 12.5])!;
    // Logarithms evenly spaced by 0.2231, so that their deviation is that; t is 4.303 for 2 degrees of freedom.
    const half = (4.3027 * Math.log(1.25)) / Math.sqrt(3);
    expect(low).toBeCloseTo(10 / Math.exp(half), 3);
    expect(high).toBeCloseTo(10 * Math.exp(half), 3);
  });

  it("uses order statistics for six processes or more", () => {
    expect(intervalBetween([6, 1, 5, 2, 4, 3])).toEqual({ low: 1, high: 6 });
    expect(intervalBetween([9, 8, 7, 6, 5, 4, 3, 2, 1])).toEqual({ low: 2, high: 8 });
  });
});

/** The middle one of three is that of the process with the number 2; what two devices cost differs. */
const three = [3, 1, 2];

/** A process of which every figure is another one's times `n`, of two devices. */
function fullProcess(n: number): ResultDocument {
  const cost = (allocateNs: number) => ({ allocateNs, freeNs: 10 * n, hugePageBytes: null });
  const figures = [0, 1].flatMap((device) => [
    buildCell({ device, memory: "pageable", GBps: 10 + n / 100 }),
    buildCell({ device, GBps: (20 + n / 100) * (device + 1) }),
  ]);
  const load = {
    unit: "GB/s" as const,
    ...{ alone: buildDistribution(2000 * n), during: buildDistribution(1500 * n) },
    keptShare: buildDistribution(0.7 + n / 100),
  };
  const latencyUs = { median: 5 * n, p99: 9 * n };
  const others: CellResult[] = [
    { ...buildCell({ beside: "memory", GBps: 30 + n }), load, computeNs: 1e6 * n },
    {
      ...buildCell({ blockBytes: 4096, blockWay: "loop", GBps: 40 + n }),
      hostNsPerBlock: buildDistribution(100 * n),
    },
    buildCell({ mode: "latency", GBps: 1, latencyUs }),
  ];
  Object.assign(others[2]!.stats[0]!.latencyUs!, { p90: 8 * n });
  Object.assign(figures[1]!, {
    warnings: n === 3 ? ["a", "b"] : ["b", `of ${n}`],
    link: n === 2 ? buildLink({ smClockMHz: n, memoryClockMHz: 2 * n }) : null,
    verification: { checkedBytes: 100 * n, mismatches: [], copies: 10 * n, provenCopies: n },
  });
  Object.assign(figures[1]!.stats[0]!, { linkShare: 0.1 * n });
  Object.assign(figures[1]!.stats[0]!.bandwidthGBps, { p10: 10 * n, p90: 30 * n });
  const document = buildDocument({
    ...{
      cells: [...figures, ...others],
      devices: [0, 1].map((ordinal) => buildDevice({ ordinal, name: `of ${n}` })),
    },
    run: { sharing: [{ device: n % 2, others: [], activityBefore: null, unseen: [] }] },
  });
  return {
    ...document,
    run: { ...document.run, id: `process-${n}`, wallNs: 1e9 * n },
    plan: { ...document.plan!, rounds: [0, 12, 7, 9][n]! },
    workerProcesses: [0, 1].map((device) => ({
      ...{ device, processes: device === 0 ? n + 2 : 8, startNs: 4e8 * n * (device + 1) },
      ...{ contextNs: 2e8 * n, contextDeviceBytes: MiB * n + 1 },
    })),
    coldStart: [0, 1].map((device) => ({
      ...{ device, initNs: 5 * n, contextNs: 7 * n * (device + 1), firstCopyNs: 11 * n },
      pinning: [MiB, 16 * MiB].map((sizeBytes, i) => {
        const isRefused = n === 1 && device === 1 && i === 0;
        return {
          ...{ sizeBytes, repetitions: n, pageable: cost(1e5 * n), registered: cost(2e6 * n) },
          pinned: isRefused ? null : cost(4e6 * n),
          ...(isRefused && { refusals: { pinned: "too much" } }),
        };
      }),
    })),
  };
}

/** What a merged document has of its own; of samples, how many there are of each process. */
const textOf = ({ run, devices, fingerprint, plan, workerProcesses, coldStart, cells }: ResultDocument) =>
  JSON.stringify(
    {
      ...{ id: run.id, runs: run.runs, sharing: run.sharing?.map(({ device }) => device) },
      ...{
        devices: devices.map(({ name }) => name),
        gpu: fingerprint.gpu,
        rounds: plan?.rounds,
        workerProcesses,
        coldStart,
      },
      cells: cells.map(
        ({ id, stats, link, verification, warnings, load, computeNs, hostNsPerBlock, samples }) => ({
          ...{ id, stats, link, verification, warnings, load, computeNs, hostNsPerBlock },
          samples: samples.map(({ process, durationNs }) => [process, durationNs.length, durationNs[0]]),
        }),
      ),
    },
    (_, value) => (typeof value === "number" ? Number(value.toPrecision(9)) : value),
    1,
  );

describe("a result of several processes", () => {
  it("merges every figure by its own rule, for each device and cell", async () => {
    const processes = three.map(fullProcess);
    const { cells, devices } = processes[0]!;
    const whole = mergeProcesses(
      buildDocument({ cells: cells.map(({ id: _, ...cell }) => buildCell(cell)), devices }),
      processes,
    );
    expect(schemaErrors(JSON.parse(JSON.stringify(whole)))).toBeNull();
    await expect(`${textOf(whole)}\n`).toMatchFileSnapshot("snapshots/merged.txt");
  });

  it("has the median of the processes' medians and the interval between them", () => {
    const [{ bandwidthGBps, relativeHalfWidth, samples, overTimeGBps }] = merge(
      ...[10, 12, 11].map((GBps) => processAt(GBps)),
    ).cells[0]!.stats as [CellResult["stats"][0]];
    const { low, high } = intervalBetween([10, 12, 11])!;
    expect(bandwidthGBps).toMatchObject({ median: 11, processMedians: [10, 12, 11], low, high, min: 9 });
    expect(relativeHalfWidth).toBeCloseTo((high - low) / 22, 12);
    expect(samples).toBe(3 * 24);
    // The bytes of all over the time of all: between the rates of the slowest and of the fastest.
    expect(overTimeGBps).toBeGreaterThan(10);
    expect(overTimeGBps).toBeLessThan(12);
  });

  it("lacks fields that no process has", () => {
    const { cells, workerProcesses } = merge(processAt(10), processAt(12));
    expect(cells[0]).not.toHaveProperty("load");
    expect(workerProcesses).toBeUndefined();
  });

  const error = { code: "E", message: "no", call: null, location: null, sticky: false };
  const mismatch = { direction: "h2d", worker: 0, offsetBytes: 0, mismatchedBytes: 8 } as const;
  const failed = processAt(12, { outcome: "failed", error, stats: [] });
  const verification = { checkedBytes: 8, mismatches: [mismatch] };
  const wrong = processAt(12, { outcome: "mismatch", stats: [], verification });

  it.each<[string, ResultDocument[], object]>([
    ["converged in all", [processAt(10), processAt(12)], { outcome: "converged" }],
    [
      "ended with the budget in one",
      [processAt(10), processAt(12, { outcome: "budget" })],
      { outcome: "budget" },
    ],
    ["failed in one", [processAt(10), failed], { outcome: "failed", error, stats: [] }],
    [
      "was wrong in one",
      [failed, processAt(10), wrong],
      { outcome: "mismatch", verification: { mismatches: [mismatch] } },
    ],
  ])("has the worst outcome of a cell that %s", (_, processes, expected) => {
    expect(merge(...processes).cells[0]).toMatchObject(expected);
  });

  it("equals the plan if no process measured anything", () => {
    expect(merge()).toEqual(planned);
    const skipped = buildCell({ memory: "mapped", result: { outcome: "skipped", skipReason: "no kernels" } });
    const document = mergeProcesses({ ...planned, cells: [...planned.cells, skipped] }, [processAt(10)]);
    expect(document.cells.at(-1)).toEqual(skipped);
  });
});
