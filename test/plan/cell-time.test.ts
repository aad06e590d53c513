import { expect, it } from "vitest";
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

/** A copy of 20 MB takes 2.001 ms: three are a sample of 5 ms. 4 MiB of one are copied before a visit. */
const large = "pinned/20000000/w1/throughput/wall/cold";
const ofHost = large.replace("pinned", "host");

it("the first samples take a calibration, six visits, and in each a warm-up and copies of 5 ms", () => {
  const { firstVisits, firstNs, extraNs } = timeOf(`h2d/${large}`);
  const copyNs = 2e6 + overheadNs;
  const warmupNs = (copyNs * 4 * 1024 ** 2) / 20e6;
  expect([firstVisits, extraNs]).toEqual([6, 0]);
  expect(firstNs).toBeCloseTo(2e6 + 6 * (1e6 + 3 * copyNs + warmupNs), 3);
});

const cells: [id: string, ...timings: Partial<CellTiming>[]][] = [
  ...(["h2d", "d2h", "bidir"] as const).flatMap((direction) =>
    [large, ofHost].map((cell): [string, ...Partial<CellTiming>[]] => [
      `${direction}/${cell}`,
      ...[{}, { verify: true }, { verify: "every" as const }],
    ]),
  ),
  [`h2d/${large}`, { samplesPerCell: 20 }, { samplesPerCell: 3 }],
  [`h2d/${large}`, { samplesPerCell: null }, { samplesPerCell: null, precision: 0.2 }],
  ["h2d/pinned/60000000/w1/throughput/wall/cold", { verify: true }],
  ["h2d/pinned/20000000/w1/latency/wall/cold", { samplesPerCell: null }, {}],
  // 4 MB and 8 MB a turn: 401 µs and 801 µs, of which 13 and 7 are 5 ms. The warm-up is all of the copy.
  ["h2d/pinned/2000000/w2/throughput/wall/cold", {}],
  ["bidir/pinned/2000000/w2/throughput/wall/cold", {}],
  // While caches hold a copy, it takes half of the time: 99 of 51 µs are 5 ms, six are 300 µs.
  ["h2d/pinned/1000000/w1/throughput/wall/cold", {}],
  [`h2d/pinned/${1024 ** 2}/w1/throughput/wall/cold`, {}],
  [`h2d/pinned/${1024 ** 2 + 1}/w1/throughput/wall/cold`, {}],
  ["h2d/pinned/1000000/w1/throughput/wall/warm", {}],
  ["h2d/pinned/20000000/w1/throughput/wall/warm", {}],
  // 10 blocks of 2 MB by two workers, 100 ns each.
  ["h2d/pinned/20000000/w2/throughput/wall/cold/blocks-2000000-loop", {}],
  // A kernel of 50 GB/s.
  [`h2d/${large}/chunks-4`, {}],
];

it("each cell takes the time that was looked at", async () => {
  const lines = cells.flatMap(([id, ...timings]) =>
    timings.map((timing) => {
      const { firstVisits, firstNs, extraNs } = timeOf(id, timing);
      const [first, extra] = [firstNs, extraNs].map((ns) => ns.toFixed(1));
      return `${id} ${JSON.stringify(timing)}: ${firstVisits} visits, ${first} ns, then ${extra} ns\n`;
    }),
  );
  await expect(lines.join("")).toMatchFileSnapshot("snapshots/cell-times.txt");
});
