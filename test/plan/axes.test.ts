import { describe, expect, it } from "vitest";
import { listCells } from "../../src/plan/cells.js";
import { flowThreads, mostChunks } from "../../src/plan/geometry.js";
import { parseCellId } from "../../src/results/cell-id.js";
import { errorOf, facts, h200, KiB, MiB, planOf } from "./support.js";

const one = { sizesBytes: [MiB], workers: [1], memory: ["pinned"], directions: ["h2d"] } as const;

describe("an axis", () => {
  it.each([
    [{ sizesBytes: [] }, "sizes"],
    [{ workers: [] }, "workers"],
    [{ memory: [] }, "memory"],
    [{ directions: [] }, "directions"],
    [{ modes: [] }, "modes"],
    [{ caches: [] }, "caches"],
    [{ workerKinds: [] }, "worker kinds"],
    [{ besides: [] }, "loads"],
    [{ pipelineChunks: [] }, "chunks"],
    [{ timers: [] }, "timers"],
    [{ blockSizesBytes: [], sizesBytes: null }, "blocks"],
  ])("has a value: %j", (given, name) => {
    expect(errorOf(() => planOf({ ...one, ...given }))).toMatchObject({
      kind: "usage",
      message: `The list of ${name} is empty.`,
    });
  });

  it("of workers ends at 1024", () => {
    expect(planOf({ ...one, workers: [1024] }).cells.map(({ workers }) => workers)).toEqual([1024]);
    expect(errorOf(() => planOf({ ...one, workers: [1025] })).message).toContain("from 1 to 1024 threads");
  });

  it("of cells that are listed has one too", () => {
    expect(errorOf(() => listCells([], facts())).message).toBe("The list of cells is empty.");
  });

  it("of blocks has each size once, ascending, and any number of blocks from one on", () => {
    const given = {
      blockSizesBytes: [64 * KiB, 4 * KiB, 64 * KiB],
      blockCounts: [1],
      blockWays: ["loop"],
      memory: ["pinned"],
      directions: ["h2d"],
    } as const;
    const blocks = planOf(given).cells.flatMap(({ blockBytes }) => blockBytes ?? []);
    expect(blocks).toEqual([4 * KiB, 64 * KiB]);
  });
});

describe("routes that cannot be", () => {
  it.each([
    [
      { memory: ["pinned"], directions: ["d2d"] },
      /memory pinned has no effect/,
      /add a direction such as h2d/,
    ],
    [
      { memory: ["device", "pinned"], directions: ["h2d"] },
      /neither is given/,
      /Add d2d or p2p to --direction/,
    ],
    [
      { memory: ["device"], directions: ["h2d", "d2d"] },
      /memory is only device/,
      /Add a memory kind such as pinned/,
    ],
  ] as const)("say what to add: %j", (given, message, hint) => {
    const error = errorOf(() => planOf({ ...one, ...given }));
    expect(error).toMatchObject({ kind: "usage", message: expect.stringMatching(message) });
    expect(error.hint).toMatch(hint);
  });
});

describe("the devices of listed cells", () => {
  it("are those that they copy on, to, or together with, ascending", () => {
    const devices = [0, 1, 2].map((ordinal) => ({ ...h200, ordinal, peers: [0, 1, 2] }));
    const ordinals = (...ids: string[]) =>
      listCells(ids.map(parseCellId), facts({ devices })).devices.map(({ ordinal }) => ordinal);
    const plain = `h2d/pinned/${MiB}/w1/throughput/wall/cold`;
    expect(ordinals(`d2/${plain}`, `d0/${plain}`)).toEqual([0, 2]);
    expect(ordinals(`d1/p2p/device/${MiB}/w1/throughput/wall/cold/to-0/read`)).toEqual([0, 1]);
    expect(ordinals(`d1/${plain}/together-1-2`)).toEqual([1, 2]);
  });
});

describe("the shape of a cell", () => {
  it("has a flow for each direction, of all its workers", () => {
    expect(flowThreads({ direction: "d2h", workers: 3 })).toEqual([3]);
    expect(flowThreads({ direction: "bidir", workers: 3 })).toEqual([3, 3]);
  });

  it("has as many chunks as buffers could begin in it", () => {
    expect(mostChunks(1)).toBe(1);
    expect(mostChunks(2 * MiB)).toBe(2 * mostChunks(MiB));
    expect(mostChunks(MiB + 1)).toBe(mostChunks(MiB) + 1);
  });
});
