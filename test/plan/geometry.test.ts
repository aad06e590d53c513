import { describe, expect, it } from "vitest";
import {
  arenaBytes,
  mostCopiesOfSample,
  planArenas,
  planProcessArenas,
  type RotatingCell,
  strideBytes,
  withSpareBuffer,
} from "../../src/plan/geometry.js";
import type { Cell } from "../../src/results/cell-schema.js";
import { KiB, MiB } from "./support.js";

function cell(changes: Partial<RotatingCell>): RotatingCell {
  const base: Cell = {
    device: 0,
    direction: "h2d",
    memory: "pinned",
    sizeBytes: MiB,
    workers: 1,
    mode: "throughput",
    cache: "cold",
  };
  return { ...base, buffersPerWorker: 2, ...changes };
}

describe("strideBytes", () => {
  it.each([
    [1, 512],
    [512, 512],
    [513, 1024],
    [MiB, MiB],
  ])("of %i bytes is %i", (sizeBytes, stride) => {
    expect(strideBytes(sizeBytes)).toBe(stride);
  });
});

describe("a cell of which every copy is compared", () => {
  it.each([
    ["a cold cell", cell({ buffersPerWorker: 7 }), 7],
    ["a warm cell", cell({ buffersPerWorker: 1, cache: "warm" }), 1],
    [
      "copies of the host to three slots",
      cell({ buffersPerWorker: 7, memory: "host", sizeBytes: 2 * MiB }),
      3,
    ],
    ["copies that fill two of the three", cell({ memory: "host", sizeBytes: 3 * MiB }), 1],
    ["copies larger than the slots", cell({ memory: "host", sizeBytes: 64 * MiB }), 1],
    ["copies out of the slots", cell({ memory: "host", direction: "d2h", sizeBytes: 64 * MiB }), 2],
  ])("has at most one copy per destination slot in a sample: %s", (_, one, most) => {
    expect(mostCopiesOfSample(one, "every")).toBe(most);
    expect(mostCopiesOfSample(one, "last")).toBe(Number.POSITIVE_INFINITY);
  });

  it("has a spare buffer if it copies in both directions or on several devices", () => {
    for (const one of [cell({ direction: "bidir" }), cell({ together: [0, 1] })]) {
      expect(withSpareBuffer(one, "every").buffersPerWorker).toBe(3);
      expect(withSpareBuffer(one, "last")).toBe(one);
    }
    expect(withSpareBuffer(cell({}), "every").buffersPerWorker).toBe(2);
  });
});

const ofProcesses = (changes: Partial<RotatingCell>) => cell({ workerKind: "process", ...changes });

const plans: [what: string, cells: RotatingCell[]][] = [
  ["two workers of 160 MiB", [cell({ sizeBytes: 32 * MiB, buffersPerWorker: 5, workers: 2 })]],
  ["a small copy, in whole huge pages", [cell({ sizeBytes: KiB })]],
  ["one chunk of 256 MiB", [cell({ sizeBytes: 128 * MiB })]],
  // Two buffers of 96 MiB would leave a quarter of a 256 MiB chunk unused.
  ["chunks that no buffer spans", [cell({ sizeBytes: 96 * MiB, buffersPerWorker: 5 })]],
  // 19 x 32 MiB: the 7 of a 224 MiB chunk leave two unused, a chunk each leaves none.
  ["chunks that waste least", [cell({ sizeBytes: 32 * MiB, buffersPerWorker: 19 })]],
  ["a buffer above 256 MiB", [cell({ sizeBytes: 300 * MiB + 1 }), cell({ buffersPerWorker: 700 })]],
  [
    "the same chunks in each arena, as many as its cells need",
    [
      cell({ memory: "pinned", sizeBytes: 256 * MiB, workers: 4 }),
      cell({ memory: "pageable", sizeBytes: 16 * MiB, workers: 1 }),
    ],
  ],
  [
    "for each worker the chunks of the cells that it takes part in",
    [
      cell({ sizeBytes: 64 * MiB, workers: 1, buffersPerWorker: 16 }),
      cell({ sizeBytes: 64 * MiB, workers: 2, buffersPerWorker: 8 }),
      cell({ sizeBytes: 64 * MiB, workers: 4, buffersPerWorker: 4 }),
    ],
  ],
  [
    "arenas that kinds of memory share",
    [
      ...[cell({ memory: "staged", workers: 2 }), cell({ memory: "pageable" })],
      ...[cell({ memory: "mapped", workers: 3 }), cell({ memory: "pinned" })],
    ],
  ],
  ["pageable memory that a device reads by itself", [cell({ memory: "system" })]],
  ["two workers for each of both directions", [cell({ direction: "bidir", memory: "staged", workers: 3 })]],
  ["copies within the device", [cell({ direction: "d2d", memory: "device" })]],
  [
    "processes that have what a thread has",
    [
      ofProcesses({ workers: 1, buffersPerWorker: 8 }),
      ofProcesses({ workers: 2, buffersPerWorker: 4, memory: "pageable" }),
      ofProcesses({ workers: 3, buffersPerWorker: 2 }),
    ],
  ],
  ["processes that copy staged both ways", [ofProcesses({ direction: "bidir", memory: "staged" })]],
  ["no processes of four threads", [cell({ workers: 4 })]],
];

it("the memory that is reserved for a list of cells matches its snapshot", async () => {
  const texts = plans.map(([what, cells]) => {
    const arenas = planArenas(cells);
    const processes = planProcessArenas(cells).map((one) => `  process: ${JSON.stringify(one)}`);
    const bytes = `  ${arenaBytes(arenas.device) / MiB} MiB of the device: ${JSON.stringify(arenas)}`;
    return [what, bytes, ...processes, ""].join("\n");
  });
  await expect(texts.join("\n")).toMatchFileSnapshot("snapshots/arenas.txt");
});
