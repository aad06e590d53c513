import { describe, expect, it } from "vitest";
import { h200, MiB, planOf } from "./support.js";

const devices = [0, 1, 2].map((ordinal) => ({
  ...h200,
  ordinal,
  peers: [0, 1, 2].filter((peer) => peer !== ordinal),
}));
const two = { devices: devices.slice(0, 2) };

const idsIn = (...arguments_: Parameters<typeof planOf>) => planOf(...arguments_).cells.map(({ id }) => id);

describe("a kind of copy that needs several devices", () => {
  it("uses all devices by default", () => {
    const ordinalsIn = (given: Parameters<typeof planOf>[0]) => [
      ...new Set(planOf({ sizesBytes: [MiB], ...given }, { devices }).cells.map(({ device }) => device)),
    ];
    expect(ordinalsIn({ together: true })).toEqual([0, 1, 2]);
    expect(ordinalsIn({ together: true, devices: [0, 2] })).toEqual([0, 2]);
    expect(ordinalsIn({ directions: ["p2p"] })).toEqual([0, 1, 2]);
    expect(ordinalsIn({})).toEqual([0]);
  });
});

describe("a list of cells", () => {
  const plain = `h2d/pinned/${MiB}/w2/throughput/cold`;

  it("adds the cells of the other devices that copy together with a listed cell", () => {
    expect(idsIn({ cells: [`d1/${plain}/together-0-1`] }, two)).toEqual([
      `d0/${plain}/together-0-1`,
      `d1/${plain}/together-0-1`,
    ]);
  });

  it("includes the device that a p2p copy goes to", () => {
    const { need } = planOf({ cells: [`d0/p2p/device/${MiB}/w1/throughput/cold/to-1/write`] }, two);
    expect(need.devicesAtOnce).toBe(2);
  });
});
