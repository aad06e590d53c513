import { describe, expect, it } from "vitest";
import { intervalBetween, mergeProcesses } from "../../src/measure/merge-processes.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { buildCell, buildDistribution, buildDocument, buildLink, MiB } from "../helpers/result-document.js";
import { schemaErrors } from "../helpers/schema-errors.js";

const planned = buildDocument({ cells: [buildCell({ memory: "pageable" }), buildCell()] });

/** A process that measured the pageable cell at this rate, and the pinned one at three times of it. */
function processAt(GBps: number, changes: Partial<CellResult> = {}): ResultDocument {
  const pageable = buildCell({ memory: "pageable", GBps });
  const document = buildDocument({ cells: [{ ...pageable, ...changes }, buildCell({ GBps: 3 * GBps })] });
  return { ...document, run: { ...document.run, id: `process-${GBps}` } };
}

/** The merged document, and its pageable cell. */
function merge(...processes: ResultDocument[]) {
  const document = mergeProcesses(planned, processes);
  expect(schemaErrors(JSON.parse(JSON.stringify(document)))).toBeNull();
  return { document, cell: document.cells[0]! };
}

describe("the interval between processes", () => {
  it("takes three of them at least", () => {
    expect(intervalBetween([10])).toBeNull();
    expect(intervalBetween([10, 11])).toBeNull();
    expect(intervalBetween([10, 11, 12])).not.toBeNull();
    expect(intervalBetween([10, 0, 12])).toBeNull();
  });

  it("is Student's t on the logarithms below six", () => {
    const { low, high } = intervalBetween([8, 10, 12.5])!;
    // Logarithms evenly spaced by 0.2231, so that their deviation is that; t is 4.303 for 2 degrees of freedom.
    const half = (4.3027 * Math.log(1.25)) / Math.sqrt(3);
    expect(low).toBeCloseTo(10 / Math.exp(half), 3);
    expect(high).toBeCloseTo(10 * Math.exp(half), 3);
  });

  it("is that of order statistics from six on", () => {
    expect(intervalBetween([6, 1, 5, 2, 4, 3])).toEqual({ low: 1, high: 6 });
    expect(intervalBetween([9, 8, 7, 6, 5, 4, 3, 2, 1])).toEqual({ low: 2, high: 8 });
  });
});

describe("a cell of several processes", () => {
  it("has the median of their medians, the interval between them, and each one's", () => {
    const { bandwidthGBps, relativeHalfWidth, samples } = merge(processAt(10), processAt(12), processAt(11))
      .cell.stats[0]!;
    expect(bandwidthGBps.median).toBe(11);
    expect(bandwidthGBps.processMedians).toEqual([10, 12, 11]);
    expect([bandwidthGBps.min, bandwidthGBps.max]).toEqual([9, expect.closeTo(13.2, 9)]);
    const { low, high } = intervalBetween([10, 12, 11])!;
    expect([bandwidthGBps.low, bandwidthGBps.high]).toEqual([low, high]);
    expect(relativeHalfWidth).toBeCloseTo((high - low) / 22, 12);
    expect(samples).toBe(3 * 24);
  });

  it("has what the load beside it did and what blocks cost likewise, and the median of what kernels took", () => {
    const load = (kept: number) => ({
      unit: "GB/s" as const,
      alone: buildDistribution(2000),
      during: buildDistribution(2000 * kept),
      keptShare: buildDistribution(kept),
    });
    const processes = [0.7, 0.9, 0.8].map((kept, i) =>
      processAt(10 + i, { load: load(kept), computeNs: 1e6 * kept }),
    );
    const { cell } = merge(...processes);
    const blocks = [3000, 2000, 2800].map((ns, i) =>
      processAt(10 + i, { hostNsPerBlock: buildDistribution(ns) }),
    );
    expect(merge(...blocks).cell.hostNsPerBlock).toMatchObject({
      median: 2800,
      processMedians: [3000, 2000, 2800],
      ...intervalBetween([3000, 2000, 2800]),
    });
    expect(cell.load).toMatchObject({
      unit: "GB/s",
      alone: { median: 2000 },
      during: { median: 1600 },
      keptShare: { median: 0.8, processMedians: [0.7, 0.9, 0.8], ...intervalBetween([0.7, 0.9, 0.8]) },
    });
    expect(cell.computeNs).toBe(8e5);
    expect(merge(processAt(10)).cell).not.toHaveProperty("load");
  });

  it("has latencies likewise", () => {
    const latency = (median: number) =>
      buildDocument({
        cells: [
          buildCell({ memory: "pageable", mode: "latency", GBps: 1, latencyUs: { median, p99: 2 * median } }),
        ],
      });
    const ofTail = (median: number) => {
      const document = latency(median);
      Object.assign(document.cells[0]!.stats[0]!.latencyUs!, { p90: 1.5 * median });
      return document;
    };
    const cells = [buildCell({ memory: "pageable", mode: "latency" })];
    const merged = mergeProcesses(buildDocument({ cells }), [3, 5, 4].map(ofTail));
    expect(merged.cells[0]?.stats[0]?.latencyUs).toMatchObject({
      median: 4,
      processMedians: [3, 5, 4],
      ...{ p90: 6, p99: 8 },
    });
  });

  it("adds up what was compared in each, and has the median of their shares of the link", () => {
    const processes = [0.2, 0.8, 0.5].map((linkShare, i) => {
      const verification = { checkedBytes: 8 + i, mismatches: [], copies: 40 + i, provenCopies: 30 + i };
      const document = processAt(10, { verification });
      Object.assign(document.cells[0]!.stats[0]!, { linkShare });
      return document;
    });
    const { cell } = merge(...processes);
    expect(cell.verification).toEqual({ checkedBytes: 27, mismatches: [], copies: 123, provenCopies: 93 });
    expect(cell.stats[0]!.linkShare).toBe(0.5);
  });

  it("keeps the samples of all, each with its process", () => {
    const processes = [processAt(10), processAt(12)];
    const { cell } = merge(...processes);
    expect(cell.samples.map(({ process }) => process)).toEqual([0, 1]);
    // The bytes of both over the time of both: between the one's rate and the other's.
    const { overTimeGBps } = cell.stats[0]!;
    const ofEach = processes.map(({ cells }) => merge({ ...planned, cells }).cell.stats[0]!.overTimeGBps!);
    expect(overTimeGBps).toBeCloseTo(2 / (1 / ofEach[0]! + 1 / ofEach[1]!), 6);
    expect(cell.samples.map(({ durationNs }) => durationNs)).toEqual(
      processes.map(({ cells }) => cells[0]!.samples[0]!.durationNs),
    );
  });

  it("has the quantiles of each process at their median, the warnings of all once, and a link that any read", () => {
    const link = buildLink({ smClockMHz: 1, memoryClockMHz: 2 });
    const withTail = (GBps: number, changes: Partial<CellResult>) => {
      const document = processAt(GBps, changes);
      const { bandwidthGBps } = document.cells[0]!.stats[0]!;
      Object.assign(bandwidthGBps, { p10: GBps - 2, p90: GBps + 1 });
      return document;
    };
    const { cell } = merge(
      withTail(10, { warnings: ["a", "b"], link: null }),
      withTail(14, { warnings: ["b", "c"], link }),
      withTail(12, { warnings: [], link: null }),
    );
    expect(cell.stats[0]!.bandwidthGBps).toMatchObject({ p10: 10, p90: 13 });
    expect(cell).toMatchObject({ warnings: ["a", "b", "c"], link });
    // The median of the others would hide that one has none.
    expect(merge(withTail(10, {}), processAt(12)).cell.stats[0]!.bandwidthGBps).toMatchObject({
      p10: null,
      p90: null,
    });
  });

  it("is wrong if one of them found it wrong, has failed if it failed in one, and has no figures then", () => {
    const error = { code: "E", message: "no", call: null, location: null, sticky: false };
    const failed = processAt(12, { outcome: "failed", error, stats: [] });
    const mismatch = { direction: "h2d", worker: 0, offsetBytes: 0, mismatchedBytes: 8 } as const;
    const wrong = processAt(12, {
      outcome: "mismatch",
      stats: [],
      verification: { checkedBytes: 8, mismatches: [mismatch] },
    });
    expect(merge(processAt(10), failed).cell).toMatchObject({ outcome: "failed", error, stats: [] });
    expect(merge(failed, processAt(10), wrong).cell).toMatchObject({
      outcome: "mismatch",
      stats: [],
      verification: { mismatches: [mismatch] },
    });
  });

  it("has converged if it has in all", () => {
    expect(merge(processAt(10), processAt(12)).cell.outcome).toBe("converged");
    expect(merge(processAt(10), processAt(12, { outcome: "budget" })).cell.outcome).toBe("budget");
  });

  it("stays as it was planned if no process measured it", () => {
    const skipped = buildCell({ memory: "mapped", result: { outcome: "skipped", skipReason: "no kernels" } });
    const document = mergeProcesses({ ...planned, cells: [...planned.cells, skipped] }, [processAt(10)]);
    expect(document.cells.at(-1)).toEqual(skipped);
  });
});

describe("a document of several processes", () => {
  it("lists them, and is the plan's if there are none yet", () => {
    expect(merge().document).toEqual(planned);
    const processes = [10, 12].map((GBps) => {
      const document = processAt(GBps);
      return { ...document, run: { ...document.run, wallNs: 1e9 * GBps } };
    });
    expect(merge(...processes).document.run).toMatchObject({
      id: planned.run.id,
      processes: [
        { id: "process-10", wallNs: 1e10 },
        { id: "process-12", wallNs: 1.2e10 },
      ],
    });
  });

  it("has the devices as the first found them, and their other users that any of them saw", () => {
    const sharingOf = (device: number) => [{ device, others: [], activityBefore: null, unseen: [] }];
    const shared = (document: ResultDocument, device: number, name: string) => ({
      ...document,
      run: { ...document.run, sharing: sharingOf(device) },
      devices: document.devices.map((one) => ({ ...one, name })),
      fingerprint: { ...document.fingerprint, hash: name },
    });
    const processes = [shared(processAt(10), 1, "first"), shared(processAt(12), 2, "second")];
    const { run, devices, fingerprint } = mergeProcesses(shared(planned, 0, "planned"), processes);
    expect(run.sharing).toEqual([0, 1, 2].flatMap(sharingOf));
    expect(devices).toEqual(processes[0]!.devices);
    expect(fingerprint).toEqual(processes[0]!.fingerprint);
  });

  it("has the medians of what worker processes took, and is without if none had any", () => {
    const withWorkers = (GBps: number, startNs: number) => ({
      ...processAt(GBps),
      workerProcesses: [
        { device: 0, processes: 4, startNs, contextNs: startNs / 2, contextDeviceBytes: startNs / 4 },
      ],
    });
    const { document } = merge(withWorkers(10, 4e8), withWorkers(11, 6e8), withWorkers(12, 9e8));
    expect(document.workerProcesses).toEqual([
      { device: 0, processes: 4, startNs: 6e8, contextNs: 3e8, contextDeviceBytes: 1.5e8 },
    ]);
    expect(merge(processAt(10)).document.workerProcesses).toBeUndefined();
  });

  it("has as many worker processes as there were in each, of each device", () => {
    const costs = (device: number, processes: number) => ({
      ...{ device, processes, startNs: 1e8 * (device + 1), contextNs: 1e8, contextDeviceBytes: MiB },
    });
    const withWorkers = (GBps: number, ...counts: number[]) => ({
      ...processAt(GBps),
      workerProcesses: counts.map((processes, device) => costs(device, processes)),
    });
    const { document } = merge(withWorkers(10, 4, 8), withWorkers(11, 3, 8));
    expect(document.workerProcesses).toEqual([costs(0, 3), costs(1, 8)]);
  });

  it("has the rounds of the one that took most", () => {
    const withRounds = (GBps: number, rounds: number) => {
      const document = processAt(GBps);
      return { ...document, plan: { ...document.plan!, rounds } };
    };
    expect(merge(withRounds(10, 6), withRounds(11, 9), withRounds(12, 7)).document.plan?.rounds).toBe(9);
  });

  it("has what each of two devices costs apart", () => {
    const coldStart = (initNs: number) =>
      [0, 1].map((device) => ({
        ...{ device, initNs, contextNs: (device + 1) * initNs, firstCopyNs: 10 * (device + 1), pinning: [] },
      }));
    const processes = [5, 7, 6].map((initNs) => ({ ...processAt(initNs), coldStart: coldStart(initNs) }));
    expect(merge(...processes).document.coldStart).toMatchObject([
      { device: 0, initNs: 6, contextNs: 6, firstCopyNs: 10 },
      { device: 1, initNs: 6, contextNs: 12, firstCopyNs: 20 },
    ]);
  });

  it("has what pays off on each of two devices by that one's own copies", () => {
    const cost = (allocateNs: number) => ({ allocateNs, freeNs: 0, hugePageBytes: null });
    const sizeBytes = 16 * MiB;
    const pinning = [{ sizeBytes, repetitions: 1, pageable: cost(0), pinned: cost(1e6), registered: null }];
    const cellsAt = (GBps: number) =>
      [0, 1].flatMap((device) => [
        buildCell({ device, memory: "pageable", GBps }),
        buildCell({ device, GBps: (2 + device) * GBps }),
      ]);
    const processes = [10, 10.1, 9.9].map((GBps) => ({
      ...buildDocument({ cells: cellsAt(GBps) }),
      coldStart: [0, 1].map((device) => ({ device, initNs: 1, contextNs: 1, firstCopyNs: 1, pinning })),
    }));
    const { coldStart } = mergeProcesses(buildDocument({ cells: cellsAt(10) }), processes);
    const pageableNs = sizeBytes / 10;
    expect(coldStart.map((one) => one.pinning[0]?.payOff?.pinned.h2d)).toEqual([
      Math.ceil(1e6 / (pageableNs - pageableNs / 2)),
      Math.ceil(1e6 / (pageableNs - pageableNs / 3)),
    ]);
  });

  it("has no cost of a way that any process was refused, and says why; freeing costs its median as well", () => {
    const cost = (allocateNs: number, freeNs: number) => ({ allocateNs, freeNs, hugePageBytes: null });
    const sizes = [MiB, 4 * MiB];
    const processes = [8, 6, 9].map((GBps, i) => ({
      ...processAt(GBps),
      coldStart: [
        {
          ...{ device: 0, initNs: 1, contextNs: 1, firstCopyNs: 1 },
          pinning: sizes.map((sizeBytes, size) => ({
            ...{ sizeBytes, repetitions: 3, pageable: cost(1, 2), registered: cost(100 * size, GBps) },
            pinned: i === 1 && size === 1 ? null : cost(10, 20),
            ...(i === 1 && size === 1 ? { refusals: { pinned: "too much" } } : {}),
          })),
        },
      ],
    }));
    const { pinning } = merge(...processes).document.coldStart[0]!;
    expect(pinning).toMatchObject([
      { sizeBytes: MiB, pinned: cost(10, 20), registered: cost(0, 8) },
      { sizeBytes: 4 * MiB, pinned: null, registered: cost(100, 8), refusals: { pinned: "too much" } },
    ]);
    expect(pinning[0]).not.toHaveProperty("refusals");
  });

  it("has the medians of what the device costs once, and says anew when it has paid off", () => {
    const cost = (allocateNs: number) => ({ allocateNs, freeNs: 0, hugePageBytes: null });
    const sizeBytes = 16 * MiB;
    const copyNs = sizeBytes / 11;
    const withCost = (GBps: number, initNs: number, pinnedNs: number) => ({
      ...processAt(GBps),
      coldStart: [
        {
          device: 0,
          initNs,
          contextNs: 1,
          firstCopyNs: 1,
          pinning: [
            {
              sizeBytes,
              repetitions: 3,
              pageable: cost(1e6),
              pinned: cost(pinnedNs),
              registered: null,
              refusals: { registered: "not supported" },
            },
          ],
        },
      ],
    });
    const { document } = merge(withCost(10.9, 5, 2e6), withCost(11, 7, 9e6), withCost(11.1, 6, 4e6));
    expect(document.coldStart).toMatchObject([
      {
        initNs: 6,
        pinning: [
          {
            repetitions: 9,
            pageable: cost(1e6),
            pinned: cost(4e6),
            registered: null,
            refusals: { registered: "not supported" },
            payOff: { pinned: { h2d: Math.ceil(3e6 / (copyNs * (2 / 3))) }, registered: { h2d: null } },
          },
        ],
      },
    ]);
  });
});
