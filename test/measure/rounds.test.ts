import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CellProgress } from "../../src/measure/cell-progress.js";
import { measureInRounds } from "../../src/measure/rounds.js";
import type { MeasureRequest } from "../../src/native/contract.js";
import { copiesPerSample } from "../../src/plan/sampling.js";
import { buildLink } from "../helpers/result-document.js";
import { FakeSession, MiB, measureWith, nativeError, progressOf, stopTheClock } from "./support.js";

beforeEach(stopTheClock);
afterEach(() => {
  vi.useRealTimers();
});

interface Asked {
  samples?: number;
  precision?: number;
  budgetNs?: number;
  verify?: boolean | "every";
  givesUp?: boolean;
  signal?: AbortSignal;
}

/** Measures to the end; resolves with the number of rounds that were measured whole. */
async function measure(session: FakeSession, cells: CellProgress[], asked: Asked = {}): Promise<number> {
  const { samples = null, precision = 0.01, budgetNs = 0 } = asked;
  const stopping = { precision, budgetNs, samplesPerCell: samples };
  const plan = { stopping, settings: { verify: asked.verify ?? true } };
  const signal = asked.signal ?? new AbortController().signal;
  let rounds = 0;
  const options = { plan, budgetNs, signal, givesUp: asked.givesUp ?? false };
  for await (const event of measureInRounds(measureWith(session), cells, options)) {
    if (event.kind === "round") rounds = event.round + 1;
  }
  return rounds;
}

const twoCells = () => [progressOf({ memory: "pageable" }), progressOf({ memory: "pinned" })];

/** Rates that no number of samples narrows down: every second copy takes twice as long. */
const unsteady = () => new FakeSession((_, sample) => (sample % 2 === 0 ? 100_000 : 200_000));

describe("the order of measuring", () => {
  it("is round by round, cell by cell", async () => {
    const session = new FakeSession();
    expect(await measure(session, twoCells(), { samples: 12 })).toBe(6);
    expect(session.visits.map(({ memory, samples }) => `${memory} ${samples}`)).toEqual(
      Array(6).fill(["pageable 2", "pinned 2"]).flat(),
    );
  });

  it("is in the first round that of what most want to know at once: large plain copies by one worker", async () => {
    const session = new FakeSession();
    const cells = [
      progressOf({ sizeBytes: MiB, workers: 1 }),
      progressOf({ sizeBytes: MiB, workers: 2 }),
      progressOf({ sizeBytes: 2 * MiB, workers: 1, memory: "staged" }),
      progressOf({ sizeBytes: 2 * MiB, workers: 1 }),
      progressOf({ sizeBytes: 2 * MiB, workers: 2 }),
    ];
    await measure(session, cells, { samples: 6 });
    const order = session.visits.map(
      ({ memory, sizeBytes, workers }) => `${memory} ${sizeBytes / MiB} MiB x${workers}`,
    );
    const [small, smallOfTwo, staged, large, largeOfTwo] = [
      ...["pinned 1 MiB x1", "pinned 1 MiB x2", "staged 2 MiB x1", "pinned 2 MiB x1", "pinned 2 MiB x2"],
    ];
    expect(order.slice(0, 10)).toEqual([
      ...[large, staged, small, largeOfTwo, smallOfTwo],
      ...[small, smallOfTwo, staged, large, largeOfTwo],
    ]);
  });

  it("has no more copies in a sample than buffers to go to, if every copy is compared", async () => {
    const session = new FakeSession();
    const cells = [progressOf(), progressOf({ cache: "warm", buffersPerWorker: 1 })];
    expect(copiesPerSample(cells[0]!.cell, 100_000)).toBeGreaterThan(8);
    await measure(session, cells, { samples: 6, verify: "every" });
    expect(cells.map((cell) => cell.copiesPerSample)).toEqual([8, 1]);
    for (const { verify, copiesPerSample, buffers } of session.visits) {
      expect(verify).toBe("every");
      expect(copiesPerSample).toBe(buffers);
    }
    expect(cells[0]).toMatchObject({ copies: 6 * 8, provenCopies: 6 * 8 });
  });

  it("begins with a calibration that is neither counted nor verified", async () => {
    const session = new FakeSession();
    const [cell] = [progressOf()];
    await measure(session, [cell], { samples: 12 });
    expect(session.requests.filter(({ verify }) => !verify)).toHaveLength(1);
    const copies = copiesPerSample(cell.cell, 100_000);
    expect(session.visits[0]).toMatchObject({
      copiesPerSample: copies,
      samples: 2,
      buffers: 8,
      sizeBytes: MiB,
    });
    expect(cell.samples[0]).toMatchObject({
      bytesPerSample: copies * MiB,
      round: [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
    });
  });

  it("takes as many copies as fill a sample also if a copy is larger than those that calibrate", async () => {
    // 4 MiB in a tenth of a millisecond: a copy of 64 MiB takes 16 times as long.
    const session = new FakeSession(({ sizeBytes }) => (sizeBytes / (4 * MiB)) * 100_000);
    const cell = progressOf({ sizeBytes: 64 * MiB });
    await measure(session, [cell], { samples: 6 });
    expect(session.requests[0]).toMatchObject({ sizeBytes: 4 * MiB, verify: false });
    expect(session.visits.map(({ copiesPerSample }) => copiesPerSample)).toEqual(Array(6).fill(4));
  });

  it("takes as many copies of both directions as fill a sample in the slower one, whichever that is", async () => {
    for (const slow of ["h2d", "d2h"]) {
      const session = new FakeSession((_, _sample, direction) => (direction === slow ? 1e6 : 100_000));
      await measure(session, [progressOf({ direction: "bidir" })], { samples: 6 });
      expect(session.visits[0]!.copiesPerSample, slow).toBe(copiesPerSample(progressOf().cell, 1e6));
    }
  });

  it("calibrates a pipeline with its share of the kernels' time, in as many chunks as there can be", async () => {
    const session = new FakeSession(({ pipeline, sizeBytes }) => pipeline!.computeNs + sizeBytes / 50);
    const cell = progressOf({ sizeBytes: 64 * MiB, chunks: 16384 });
    await measure(session, [cell], { samples: 6 });
    expect(session.requests[0]!.pipeline).toEqual({ chunks: 8192, computeNs: Math.ceil((4 * MiB) / 50) });
    expect(session.visits[0]!.pipeline).toEqual({ chunks: 16384, computeNs: Math.ceil((64 * MiB) / 50) });
    expect(session.visits[0]!.copiesPerSample).toBe(2);
  });

  it("asks for blocks as the cell has them, of which the calibration and the warm-up copy whole ones", async () => {
    const session = new FakeSession(({ blocks, sizeBytes }) => (sizeBytes / blocks!.bytes) * 3000);
    const bytes = 3 * MiB;
    const cell = progressOf({ sizeBytes: 3 * bytes, blockBytes: bytes, blockWay: "kernel", blockSms: 8 });
    await measure(session, [cell], { samples: 6 });
    const blocks = { bytes, way: "kernel", multiprocessors: 8 };
    expect(session.requests[0]).toMatchObject({ sizeBytes: bytes, blocks });
    expect(session.visits[0]).toMatchObject({ sizeBytes: 3 * bytes, warmupBytes: bytes, blocks });
    expect(session.visits[0]!.copiesPerSample).toBe(Math.ceil(5e6 / 9000));
    const other = progressOf({ sizeBytes: 16 * MiB, blockBytes: 4096, blockWay: "loop" });
    await measure(session, [other], { samples: 6 });
    expect(session.visits.at(-1)!.blocks).toEqual({ bytes: 4096, way: "loop", multiprocessors: null });
    // Half of what copies took was the host's (the stand-in says so): 1500 ns a block, of one worker.
    expect(other.hostNsPerBlock).toMatchObject({ median: 1500, low: 1500, high: 1500 });
    expect(progressOf().hostNsPerBlock).toBeNull();
  });

  it("goes on in the rotation of buffers where the last visit stopped", async () => {
    const session = new FakeSession();
    const cell = progressOf({ buffersPerWorker: 32 });
    await measure(session, [cell], { samples: 12 });
    const perVisit = 2 * cell.copiesPerSample;
    expect(session.visits.map(({ firstBuffer }) => firstBuffer)).toEqual(
      [0, 1, 2, 3, 4, 5].map((visit) => (visit * perVisit) % 32),
    );
  });

  it("reads the link until it has been read", async () => {
    const session = new FakeSession();
    const link = buildLink();
    session.beforeMeasure = ({ readLink }) => ({ link: readLink && session.visits.length > 1 ? link : null });
    const cell = progressOf();
    await measure(session, [cell], { samples: 6 });
    expect(session.visits.map(({ readLink }) => readLink)).toEqual([true, true, false, false, false, false]);
    expect(cell.linkLimitGBps).toBeCloseTo(63, 0);
    expect(cell.stats[0]?.linkShare).toBeGreaterThan(0);
  });

  it("does not read the link beside copies that the device has no part in, or another one drives: it may be idle", async () => {
    const session = new FakeSession();
    const between = { direction: "p2p", memory: "device", peer: 1, path: "read" } as const;
    await measure(session, [progressOf({ memory: "host" }), progressOf(between)], { samples: 6 });
    expect(session.visits.map(({ readLink }) => readLink)).toEqual(Array(12).fill(false));
  });

  it("skips the cells that are skipped", async () => {
    const session = new FakeSession();
    await measure(session, [progressOf({ skipReason: "no reason" })], { samples: 6 });
    expect(session.requests).toEqual([]);
  });
});

describe("when a cell has been measured enough", () => {
  it("is after 6 samples if its interval is narrow enough", async () => {
    const session = new FakeSession();
    const cell = progressOf();
    await measure(session, [cell], { budgetNs: 1e12 });
    expect(cell).toMatchObject({ outcome: "converged", taken: 6, halfWidth: 0 });
  });

  it("is when the budget is spent if it is not, but never before the least samples", async () => {
    const cells = [progressOf(), progressOf()];
    await measure(unsteady(), [cells[0]!], { budgetNs: 0 });
    expect(cells[0]).toMatchObject({ isOpen: true, taken: 6 });
    const session = unsteady();
    await measure(session, [cells[1]!], { budgetNs: 1e9 });
    expect(cells[1]!.taken).toBeGreaterThan(20);
    const measuredNs = cells[1]!.samples[0]!.durationNs.reduce((sum, ns) => sum + ns, 0);
    expect(measuredNs).toBeLessThanOrEqual(1e9);
    expect(cells[1]!.isOpen).toBe(true);
  });

  it("is soon if no time would bring its interval near what is asked for, where cells may be given up", async () => {
    const hopeless = progressOf();
    const session = unsteady();
    await measure(session, [hopeless], { budgetNs: 1e9, givesUp: true });
    expect(hopeless).toMatchObject({ outcome: "budget", taken: 10 });
    // A third to both sides: twice as wide as asked for is worth the time that there is.
    const near = progressOf();
    await measure(unsteady(), [near], { budgetNs: 1e9, givesUp: true, precision: 0.2 });
    expect(near.taken).toBeGreaterThan(20);
    expect(near.isOpen).toBe(true);
  });

  it("is not so for one odd sample among the first", async () => {
    const copies = ({ verify }: MeasureRequest, sample: number) =>
      verify && sample === 0 ? 200_000 : 100_000;
    const cell = progressOf();
    await measure(new FakeSession(copies), [cell], { budgetNs: 1e9, givesUp: true });
    expect(cell).toMatchObject({ outcome: "converged", taken: 10 });
  });

  it("is after the count asked for, narrow or not", async () => {
    const cell = progressOf();
    expect(await measure(unsteady(), [cell], { samples: 7, budgetNs: 1e12 })).toBe(4);
    expect(cell.taken).toBe(7);
  });

  it("is after that count of each worker in latency mode", async () => {
    const session = new FakeSession();
    const cell = progressOf({ mode: "latency", workers: 4 });
    await measure(session, [cell], { samples: 6 });
    expect(session.visits.map(({ samples }) => samples)).toEqual(Array(6).fill(1));
    expect(cell.samples[0]?.durationNs).toHaveLength(24);
    expect(cell.samples[0]?.bytesPerSample).toBe(MiB);
  });

  it("leaves the budget to the other cells", async () => {
    const session = new FakeSession(({ memory }, sample) =>
      memory === "pageable" && sample % 2 === 1 ? 200_000 : 100_000,
    );
    const cells = twoCells();
    await measure(session, cells, { budgetNs: 1e9 });
    expect(cells.map(({ outcome }) => outcome)).toEqual([null, "converged"]);
    expect(cells[0]!.taken).toBeGreaterThan(cells[1]!.taken);
  });

  it("brings the cell to its end that is nearer to it, if the budget is not enough for two", async () => {
    // The first cell never converges. One slow sample widens the second one's interval until four more have come.
    const copies = ({ memory, verify }: MeasureRequest, sample: number) => {
      if (memory === "pageable") return sample % 2 === 0 ? 100_000 : 200_000;
      return verify && sample === 0 ? 120_000 : 100_000;
    };
    const least = twoCells();
    const startedMs = performance.now();
    await measure(new FakeSession(copies), least, { budgetNs: 0 });
    const leastNs = (performance.now() - startedMs) * 1e6;
    expect(least.map(({ outcome, taken }) => [outcome, taken])).toEqual(Array(2).fill([null, 6]));

    const cells = twoCells();
    const [farNs, nearNs] = least.map(({ visitNsPerSample }) => 4 * visitNsPerSample) as [number, number];
    await measure(new FakeSession(copies), cells, { budgetNs: leastNs + Math.max(farNs, nearNs) + 1e6 });
    expect(cells.map(({ outcome, taken }) => [outcome, taken])).toEqual([
      [null, 6],
      ["converged", 10],
    ]);
  });

  it("takes the wider of a bidir cell's intervals", async () => {
    const slowEverySecond = (unsteady: string) =>
      new FakeSession((_, sample, direction) =>
        direction === unsteady && sample % 2 === 1 ? 200_000 : 100_000,
      );
    for (const direction of ["h2d", "d2h"]) {
      const open = progressOf({ direction: "bidir" });
      await measure(slowEverySecond(direction), [open], { budgetNs: 1e9 });
      expect(open.outcome, direction).toBeNull();
      const [h2d, d2h] = open.stats.map(({ relativeHalfWidth }) => relativeHalfWidth);
      expect(direction === "h2d" ? d2h : h2d, direction).toBe(0);
    }
    const cell = progressOf({ direction: "bidir" });
    await measure(new FakeSession(), [cell], { budgetNs: 1e12 });
    expect(cell.samples.map(({ direction, durationNs }) => [direction, durationNs.length])).toEqual([
      ["h2d", 6],
      ["d2h", 6],
    ]);
    expect(cell.stats).toHaveLength(3);
    expect(cell.outcome).toBe("converged");
  });
});

describe("what goes wrong", () => {
  it("fails its cell alone", async () => {
    const session = new FakeSession();
    session.beforeMeasure = ({ memory }) => {
      if (memory === "pageable") throw nativeError("CUDA_ERROR_UNKNOWN");
      return {};
    };
    const cells = twoCells();
    await measure(session, cells, { samples: 6 });
    expect(cells[0]).toMatchObject({ outcome: "failed", taken: 0, error: { code: "CUDA_ERROR_UNKNOWN" } });
    expect(cells[1]).toMatchObject({ taken: 6, error: null });
  });

  it("ends all measuring if the context is lost, in the middle of a round", async () => {
    const session = new FakeSession();
    const cells = [...twoCells(), progressOf({ memory: "registered" })];
    session.beforeMeasure = ({ memory, verify }) => {
      if (memory === "pinned" && verify) throw nativeError("CUDA_ERROR_ILLEGAL_ADDRESS", true);
      return {};
    };
    await measure(session, cells, { samples: 6 });
    expect(cells.map(({ outcome }) => outcome)).toEqual(["skipped", "failed", "skipped"]);
    expect(session.requests.at(-1)?.memory).toBe("pinned");
    expect(cells[2]?.skipReason).toContain("CUDA_ERROR_ILLEGAL_ADDRESS in d0/h2d/pinned/");
  });

  it("is wrong data: the cell is closed, and that visit's samples are not kept", async () => {
    const session = new FakeSession();
    const mismatch = { direction: "h2d", worker: 0, offsetBytes: 8, mismatchedBytes: 8 } as const;
    session.beforeMeasure = () =>
      session.visits.length === 2
        ? { verification: { checkedBytes: 64, mismatches: [mismatch], copies: 1, provenCopies: 1 } }
        : {};
    const cell = progressOf();
    await measure(session, [cell], { samples: 6 });
    expect(cell).toMatchObject({ outcome: "mismatch", taken: 1, mismatches: [mismatch] });
    expect(session.visits).toHaveLength(2);
  });
});

describe("an abort", () => {
  it("ends it within the call that is running, whose samples are dropped unverified", async () => {
    const controller = new AbortController();
    const session = new FakeSession();
    session.beforeMeasure = () => {
      if (session.visits.length < 4) return {};
      controller.abort();
      return { aborted: true };
    };
    const cells = twoCells();
    expect(await measure(session, cells, { samples: 6, signal: controller.signal })).toBe(1);
    expect(cells.map(({ taken, outcome }) => [taken, outcome])).toEqual([
      [2, null],
      [1, null],
    ]);
  });

  it("is no failure of the cell whose call it rejects", async () => {
    const controller = new AbortController();
    const session = new FakeSession();
    session.beforeMeasure = () => {
      controller.abort();
      throw nativeError("ABORTED");
    };
    const cells = twoCells();
    await measure(session, cells, { samples: 6, signal: controller.signal });
    expect(cells.map(({ outcome }) => outcome)).toEqual([null, null]);
    expect(session.requests).toHaveLength(1);
  });
});
