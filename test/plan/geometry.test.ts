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

const staging = { chunkBytes: 2 * MiB, slots: 3 };

function cell(changes: Partial<RotatingCell>): RotatingCell {
  const base: Cell = {
    device: 0,
    direction: "h2d",
    memory: "pinned",
    sizeBytes: MiB,
    workers: 1,
    mode: "throughput",
    timer: "wall",
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
    ["a cold one", cell({ buffersPerWorker: 7 }), 7],
    ["a warm one", cell({ buffersPerWorker: 1, cache: "warm" }), 1],
    [
      "copies of the host to three slots",
      cell({ buffersPerWorker: 7, memory: "host", sizeBytes: 2 * MiB }),
      3,
    ],
    ["copies that fill two of the three", cell({ memory: "host", sizeBytes: 3 * MiB }), 1],
    ["copies larger than the slots", cell({ memory: "host", sizeBytes: 64 * MiB }), 1],
    ["copies out of the slots", cell({ memory: "host", direction: "d2h", sizeBytes: 64 * MiB }), 2],
  ])("has no more copies in a sample than places to go to: %s", (_, one, most) => {
    expect(mostCopiesOfSample(one, "every")).toBe(most);
    expect(mostCopiesOfSample(one, true)).toBe(Number.POSITIVE_INFINITY);
  });

  it("has room for the copies that keep other flows company, if there are any", () => {
    for (const one of [cell({ direction: "bidir" }), cell({ together: [0, 1] })]) {
      expect(withSpareBuffer(one, "every").buffersPerWorker).toBe(3);
      expect(withSpareBuffer(one, true)).toBe(one);
    }
    expect(withSpareBuffer(cell({}), "every").buffersPerWorker).toBe(2);
  });
});

describe("planProcessArenas", () => {
  const ofProcesses = (changes: Partial<RotatingCell>) => cell({ workerKind: "process", ...changes });

  it("gives each process what a thread has of the cells that it takes part in", () => {
    const arenas = planProcessArenas(
      [
        ofProcesses({ workers: 1, buffersPerWorker: 8 }),
        ofProcesses({ workers: 2, buffersPerWorker: 4, memory: "pageable" }),
        ofProcesses({ workers: 3, buffersPerWorker: 2 }),
      ],
      staging,
    );
    const bytes = (kind: "pinned" | "pageable") =>
      arenas.map(({ host }) => (host[kind] === undefined ? 0 : arenaBytes(host[kind])));
    expect(bytes("pinned")).toEqual([8 * MiB, 4 * MiB, 2 * MiB]);
    expect(bytes("pageable")).toEqual([8 * MiB, 4 * MiB, 0]);
  });

  it("gives them memory for both directions of bidir, and a ring for staged copies", () => {
    const [arenas] = planProcessArenas([ofProcesses({ direction: "bidir", memory: "staged" })], staging);
    expect(arenas?.device.chunksOfWorker).toEqual([1, 1]);
    expect(arenas?.staging).toMatchObject({ workers: 2, ...staging });
  });

  it("is none without such cells", () => {
    expect(planProcessArenas([cell({ workers: 4 })], staging)).toEqual([]);
  });
});

describe("planArenas", () => {
  it("gives each worker one chunk up to 256 MiB, in whole huge pages", () => {
    const arenas = planArenas([cell({ sizeBytes: 32 * MiB, buffersPerWorker: 5, workers: 2 })], staging);
    expect(arenas.host).toEqual({ pinned: { chunksOfWorker: [1, 1], chunkBytes: 160 * MiB } });
    expect(planArenas([cell({ sizeBytes: KiB })], staging).device.chunkBytes).toBe(2 * MiB);
    expect(planArenas([cell({ sizeBytes: 128 * MiB })], staging).device).toEqual({
      chunksOfWorker: [1],
      chunkBytes: 256 * MiB,
    });
  });

  it("splits more into chunks that no buffer spans and that waste least", () => {
    // Two buffers of 96 MiB would leave a quarter of a 256 MiB chunk unused.
    const arenas = planArenas([cell({ sizeBytes: 96 * MiB, buffersPerWorker: 5 })], staging);
    expect(arenas.device).toEqual({ chunksOfWorker: [5], chunkBytes: 96 * MiB });
    // 19 x 32 MiB: the 7 of a 224 MiB chunk leave two unused, a chunk each leaves none.
    const many = planArenas([cell({ sizeBytes: 32 * MiB, buffersPerWorker: 19 })], staging);
    expect(arenaBytes(many.device)).toBe(19 * 32 * MiB);
  });

  it("takes chunks as large as the largest buffer if that is above 256 MiB", () => {
    const arenas = planArenas([cell({ sizeBytes: 300 * MiB + 1 }), cell({ buffersPerWorker: 700 })], staging);
    expect(arenas.device).toEqual({ chunksOfWorker: [3], chunkBytes: 302 * MiB });
  });

  it("gives every arena the same chunks, but only as many as its own cells need", () => {
    const arenas = planArenas(
      [
        cell({ memory: "pinned", sizeBytes: 256 * MiB, workers: 4 }),
        cell({ memory: "pageable", sizeBytes: 16 * MiB, workers: 1 }),
      ],
      staging,
    );
    expect(arenas.host.pinned).toEqual({ chunksOfWorker: [2, 2, 2, 2], chunkBytes: 256 * MiB });
    expect(arenas.host.pageable).toEqual({ chunksOfWorker: [1], chunkBytes: 256 * MiB });
    expect(arenas.device).toEqual(arenas.host.pinned);
    expect(arenaBytes(arenas.device)).toBe(2048 * MiB);
  });

  it("gives each worker only the chunks of the cells that it takes part in", () => {
    const arenas = planArenas(
      [
        cell({ sizeBytes: 64 * MiB, workers: 1, buffersPerWorker: 16 }),
        cell({ sizeBytes: 64 * MiB, workers: 2, buffersPerWorker: 8 }),
        cell({ sizeBytes: 64 * MiB, workers: 4, buffersPerWorker: 4 }),
      ],
      staging,
    );
    expect(arenas.device).toEqual({ chunksOfWorker: [4, 2, 1, 1], chunkBytes: 256 * MiB });
    expect(arenaBytes(arenas.device)).toBe(2048 * MiB);
  });

  it("shares arenas: staged copies use pageable memory, mapped ones pinned memory", () => {
    const arenas = planArenas(
      [
        cell({ memory: "staged", workers: 2 }),
        cell({ memory: "pageable" }),
        cell({ memory: "mapped", workers: 3 }),
        cell({ memory: "pinned" }),
      ],
      staging,
    );
    expect(Object.keys(arenas.host)).toEqual(["pageable", "pinned"]);
    expect(arenas.host.pageable?.chunksOfWorker.length).toBe(2);
    expect(arenas.host.pinned?.chunksOfWorker.length).toBe(3);
    expect(arenas.staging).toMatchObject({ workers: 2, slots: 3, chunkBytes: 2 * MiB });
  });

  it("has pageable memory for what a device reads of it by itself", () => {
    expect(Object.keys(planArenas([cell({ memory: "system" })], staging).host)).toEqual(["pageable"]);
  });

  it("has two workers for each of a bidir cell", () => {
    const arenas = planArenas([cell({ direction: "bidir", memory: "staged", workers: 3 })], staging);
    expect(arenas.host.pageable?.chunksOfWorker.length).toBe(6);
    expect(arenas.device.chunksOfWorker.length).toBe(6);
    expect(arenas.staging?.workers).toBe(6);
  });

  it("has a second copy on the device, and nothing on the host, for d2d", () => {
    const arenas = planArenas([cell({ direction: "d2d", memory: "device" })], staging);
    expect(arenas).toEqual({
      host: {},
      device: { chunksOfWorker: [1], chunkBytes: 2 * MiB },
      deviceCopies: 2,
      staging: null,
      gatherBytes: 0,
      blocks: { listed: 0, all: 0 },
    });
  });
});
