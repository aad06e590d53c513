import { describe, expect, it } from "vitest";
import { listCells } from "../../src/plan/cells.js";
import { parseCellId } from "../../src/results/cell-id.js";
import { facts, h200, MiB, planOf } from "./support.js";

const one = { sizesBytes: [MiB], workers: [1], memory: ["pinned"], directions: ["h2d"] } as const;

describe("the axis", () => {
  it("of numbers of workers goes up to 1024", () => {
    expect(planOf({ ...one, workers: [1024] }).cells.map(({ workers }) => workers)).toEqual([1024]);
  });
});

describe("the devices of listed cells", () => {
  it("are all devices that they copy on, to or together with, in ascending order", () => {
    const devices = [0, 1, 2].map((ordinal) => ({ ...h200, ordinal, peers: [0, 1, 2] }));
    const ordinals = (...ids: string[]) =>
      listCells(ids.map(parseCellId), facts({ devices })).devices.map(({ ordinal }) => ordinal);
    const plain = `h2d/pinned/${MiB}/w1/throughput/cold`;
    expect(ordinals(`d2/${plain}`, `d0/${plain}`)).toEqual([0, 2]);
    expect(ordinals(`d1/p2p/device/${MiB}/w1/throughput/cold/to-0/read`)).toEqual([0, 1]);
    expect(ordinals(`d1/${plain}/together-1-2`)).toEqual([1, 2]);
  });
});
