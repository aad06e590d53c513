import { describe, expect, it } from "vitest";
import { type CellTiming, cellTime } from "../../src/plan/duration.js";
import { type MachineSpeed, machineSpeed } from "../../src/plan/machine-speed.js";
import { parseCellId } from "../../src/results/cell-id.js";
import { facts } from "./support.js";

const overheadNs = 1000;

/** A machine of round figures. */
const speed: MachineSpeed = {
  ...machineSpeed({ ...facts(), memorySpeed: null }),
  copyGBps: () => 10,
  calibrationGain: 2,
  copyOverheadNs: {
    ...{ pageable: overheadNs, staged: overheadNs, host: overheadNs, pinned: overheadNs },
    ...{
      registered: overheadNs,
      "write-combined": overheadNs,
      mapped: overheadNs,
      system: overheadNs,
      device: overheadNs,
    },
  },
  blockNs: () => 100,
  visitNs: 1e6,
  calibrationNs: 2e6,
  checkGBps: { host: 5, device: 20 },
  everyPassGBps: 4,
  sampleSpread: () => 0.1,
};

/** The time of a cell of two buffers; unless a test says otherwise, all of its samples are its first ones, unchecked. */
function timeOf(id: string, timing: Partial<CellTiming> = {}) {
  const cell = { ...parseCellId(`d0/${id}`), id, buffersPerWorker: 2, skipReason: null };
  return cellTime(cell, { samplesPerCell: 6, precision: 0.01, verify: false, ...timing }, speed);
}

/** Of six visits of one sample each: what one takes beside 1 ms. */
const perVisit = (id: string, timing: Partial<CellTiming> = {}) =>
  (timeOf(id, timing).firstNs - 2e6) / 6 - 1e6;

/** A copy of 20 MB takes 2.001 ms: three are a sample of 5 ms. 4 MiB of one are copied before a visit. */
const large = "pinned/20000000/w1/throughput/wall/cold";
const largeNs = 2e6 + overheadNs;
const warmupNs = (largeNs * 4 * 1024 ** 2) / 20e6;

describe("the first samples of a cell", () => {
  it("take its calibration, six visits, and in each a warm-up and copies of 5 ms", () => {
    expect(timeOf(`h2d/${large}`)).toMatchObject({ firstVisits: 6, extraNs: 0 });
    expect(perVisit(`h2d/${large}`)).toBeCloseTo(3 * largeNs + warmupNs, 3);
  });

  it("are spread over six visits at most", () => {
    expect(timeOf(`h2d/${large}`, { samplesPerCell: 20 }).firstVisits).toBe(5);
    expect(timeOf(`h2d/${large}`, { samplesPerCell: 3 }).firstVisits).toBe(3);
  });

  it("of latency are 300 single copies in six visits, if no count is asked for", () => {
    const { firstVisits, firstNs } = timeOf("h2d/pinned/20000000/w1/latency/wall/cold", {
      samplesPerCell: null,
    });
    expect(firstVisits).toBe(6);
    expect(firstNs).toBeCloseTo(2e6 + 6 * (1e6 + warmupNs) + 300 * largeNs, 3);
  });

  it("carry the bytes of all threads, of both directions in a bidir cell", () => {
    // 4 MB and 8 MB a turn: 401 µs and 801 µs, of which 13 and 7 are 5 ms. The warm-up is all of the copy.
    expect(perVisit("h2d/pinned/2000000/w2/throughput/wall/cold")).toBeCloseTo((13 + 1) * 401e3, 3);
    expect(perVisit("bidir/pinned/2000000/w2/throughput/wall/cold")).toBeCloseTo((7 + 1) * 801e3, 3);
  });
});

describe("caches", () => {
  const copyNs = 100e3 + overheadNs;
  const cachedNs = 50e3 + overheadNs;

  it("hold copies of up to 1 MiB while these are calibrated: samples have more of them", () => {
    // 99 of 51 µs are 5 ms, six are 300 µs.
    expect(perVisit("h2d/pinned/1000000/w1/throughput/wall/cold")).toBeCloseTo((99 + 6) * copyNs, 3);
    const largestNs = (1024 ** 2 / 20 + overheadNs) * 1;
    expect(perVisit(`h2d/pinned/${1024 ** 2}/w1/throughput/wall/cold`)).toBeCloseTo(
      (Math.ceil(5e6 / largestNs) + Math.ceil(300e3 / largestNs)) * (1024 ** 2 / 10 + overheadNs),
      3,
    );
  });

  it("hold warm copies in samples too, of any size, all of which warms up", () => {
    expect(perVisit("h2d/pinned/1000000/w1/throughput/wall/warm")).toBeCloseTo((99 + 6) * cachedNs, 3);
    expect(perVisit("h2d/pinned/20000000/w1/throughput/wall/warm")).toBeCloseTo(
      (5 + 1) * (1e6 + overheadNs),
      3,
    );
  });
});

describe("the work beside copies", () => {
  it("is that of each block of each worker", () => {
    // 10 blocks of 2 MB by two workers, 100 ns each.
    const turnNs = 4e6 + overheadNs + 2 * 10 * 100;
    const warmupBytes = 4e6;
    expect(perVisit("h2d/pinned/20000000/w2/throughput/wall/cold/blocks-2000000-loop")).toBeCloseTo(
      4 * turnNs + (turnNs * warmupBytes) / 20e6,
      3,
    );
  });

  it("of a pipeline is a kernel's, of 50 GB/s", () => {
    const turnNs = largeNs + 20e6 / 50;
    expect(perVisit(`h2d/${large}/chunks-4`)).toBeCloseTo(3 * turnNs + (turnNs * 4 * 1024 ** 2) / 20e6, 3);
  });
});

describe("a check of what was copied", () => {
  const checkNs = (id: string, verify: CellTiming["verify"], more: Partial<CellTiming> = {}) =>
    perVisit(id, { ...more, verify }) - perVisit(id, more);

  it.each([
    ["on the device", `h2d/${large}`, 40e6 / 20],
    ["on the host", `d2h/${large}`, 40e6 / 5],
    ["on both, if both directions are copied", `bidir/${large}`, 40e6 / 5 + 40e6 / 20],
    ["not at all, if the host's own copies stay in a few MiB", `h2d/${large.replace("pinned", "host")}`, 0],
    ["on the host, if its own copies go the other way", `d2h/${large.replace("pinned", "host")}`, 40e6 / 5],
  ])("compares both buffers %s", (_, id, expected) => {
    expect(checkNs(id, true)).toBeCloseTo(expected, 3);
  });

  it("compares no more buffers than are copied to", () => {
    const single = "h2d/pinned/60000000/w1/throughput/wall/cold";
    expect(checkNs(single, true)).toBeCloseTo(60e6 / 20, 3);
  });

  it("of every copy leaves a sample as many as there are buffers", () => {
    const id = `h2d/${large}`;
    expect(perVisit(id, { verify: "every" })).toBeCloseTo(2 * largeNs + warmupNs + (2 * 20e6) / 4, 3);
  });
});

describe("samples beyond the first ones", () => {
  // (1.96 sqrt(π / 2) 0.1 / 0.01)² are 603.4: 597.4 more, four a visit.
  it("are as many as the precision takes that is asked for", () => {
    const { extraNs } = timeOf(`h2d/${large}`, { samplesPerCell: null });
    expect(extraNs).toBeCloseTo(150 * (1e6 + warmupNs + 4 * 3 * largeNs), 1);
  });

  it("are none if the first ones are enough", () => {
    expect(timeOf(`h2d/${large}`, { samplesPerCell: null, precision: 0.2 }).extraNs).toBe(0);
  });
});
