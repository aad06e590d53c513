import { describe, expect, it } from "vitest";
import { problemOfVariant } from "../../src/plan/cell-variants.js";
import { listCells, takesKernel } from "../../src/plan/cells.js";
import { computeNs } from "../../src/plan/geometry.js";
import { cellId, parseCellId } from "../../src/results/cell-id.js";
import { facts, h200, MiB } from "./support.js";

/* Which variants of a cell exist, and their order. */

const [plain, d2d, p2p] = [
  `d0/h2d/pinned/${MiB}/w1/throughput/cold`,
  `d0/d2d/device/${MiB}/w1/throughput/cold`,
  `d0/p2p/device/${MiB}/w1/throughput/cold`,
];
const host = plain.replace("pinned", "host");

describe("a plan accepts", () => {
  it.each([
    plain,
    `${plain}/process`,
    `${plain}/process/together-0-1`,
    `${plain}/together-0-1-3`,
    `${d2d}/together-0-1`,
    `${p2p}/to-1/read`,
    `${plain}/beside-host`,
    `${plain}/chunks-1`,
    ...["pageable", "registered"].map((memory) => `${plain.replace("pinned", memory)}/chunks-4`),
    `${plain}/blocks-4096-kernel`,
    `${plain.replace("pinned", "pageable")}/blocks-4096-loop`,
    `${plain}/beside-compute/blocks-4096-kernel`,
  ])("the cell %s", (id) => {
    expect(problemOfVariant(parseCellId(id))).toBeNull();
  });
});

describe("a plan refuses the cell", () => {
  const toAnother = "direction p2p needs a peer, and no other direction has one";
  const byItself = "direction p2p is measured by itself";
  const processes = "processes copy only between host and device";
  const ascending = "several devices, in ascending order, copy together";
  const load = "beside a load, threads copy between one device and the host";
  const pipeline = /^a pipeline copies pageable, pinned or registered memory to the device, with one thread/;
  const blocks = /^blocks are copied only by threads/;

  it.each<[string, string | RegExp]>([
    [p2p, toAnother],
    [`${plain}/to-1/read`, toAnother],
    [`${p2p}/to-0/read`, "a device cannot be its own peer"],
    [`${p2p}/process/to-1/read`, byItself],
    [`${p2p}/together-0-1/to-1/read`, byItself],
    [`${p2p}/to-1/read/beside-host`, byItself],
    [`${p2p}/to-1/read/chunks-4`, byItself],
    [`${d2d}/process`, processes],
    [`${host}/process`, processes],
    [`${plain}/together-0`, ascending],
    [`${plain}/together-1-0`, ascending],
    [`${plain}/together-0-0`, ascending],
    [`${plain}/together-0-2-1`, ascending],
    [`${plain}/together-1-2`, "its own device is not among those that copy together"],
    [`${host}/together-0-1`, "copies of the host alone have no device"],
    [`${plain}/process/beside-host`, load],
    [`${plain}/together-0-1/beside-host`, load],
    [`${plain}/beside-host/chunks-4`, load],
    [`${d2d}/beside-host`, load],
    [`${host}/beside-host`, load],
    [`${plain}/process/chunks-4`, pipeline],
    [`${plain}/together-0-1/chunks-4`, pipeline],
    [`${plain}/chunks-0`, pipeline],
    ...[
      ["h2d", "d2h"],
      ["pinned", "mapped"],
      ["w1", "w2"],
      ["throughput", "latency"],
      ["cold", "warm"],
    ].map(([own, other]): [string, RegExp] => [`${plain.replace(own!, other!)}/chunks-4`, pipeline]),
    [`${plain}/process/blocks-4096-loop`, blocks],
    [`${plain}/together-0-1/blocks-4096-loop`, blocks],
    [`${plain}/chunks-4/blocks-4096-loop`, blocks],
    [`${plain.replace("pinned", "mapped")}/blocks-4096-loop`, blocks],
    [`${plain.replace("throughput", "latency")}/blocks-4096-loop`, blocks],
    [`${plain.replace("cold", "warm")}/blocks-4096-loop`, blocks],
    [`${plain.replace("h2d/pinned", "d2d/device")}/blocks-4096-loop`, blocks],
    [`${plain}/blocks-0-loop`, /^blocks are multiples of 16 bytes/],
    [`${plain}/blocks-24-loop`, /^blocks are multiples of 16 bytes/],
    [`${plain}/blocks-48-loop`, /^blocks are multiples of 16 bytes, and a copy is made of whole ones/],
    [
      `${plain.replace("pinned", "pageable")}/blocks-4096-kernel`,
      "a kernel copies only blocks of pinned memory",
    ],
  ])("%s: %s", (id, problem) => {
    expect(problemOfVariant(parseCellId(id))).toMatch(problem);
  });
});

describe("a list of cells", () => {
  it("is measured in the same order, however it is listed", () => {
    const ids = [
      plain,
      `${plain}/process`,
      `${plain}/together-0-1`,
      `${plain}/beside-compute`,
      `${plain}/beside-memory`,
      `${plain}/chunks-2`,
      `${plain}/chunks-4`,
      `${plain}/blocks-4096-loop`,
      `${plain}/blocks-4096-kernel`,
      `${plain}/blocks-65536-loop`,
      plain.replace("pinned", "mapped"),
      plain.replace("w1", "w2"),
      `${d2d}`,
      `${p2p}/to-1/write`,
      `${p2p}/to-1/read`,
      `${p2p}/to-2/write`,
      `${plain.replace("d0", "d1")}/together-0-1`,
    ];
    const devices = [0, 1, 2].map((ordinal) => ({ ...h200, ordinal, peers: [0, 1, 2] }));
    const listed = (given: readonly string[]) =>
      listCells(given.map(parseCellId), facts({ devices })).cells.map((cell) => cellId(cell));
    expect(listed(ids)).toEqual(ids);
    expect(listed([...ids].reverse())).toEqual(ids);
  });
});

describe("a kernel takes part", () => {
  it.each([
    [plain, false],
    [`${p2p}/to-1/read`, false],
    [`${p2p}/to-1/kernel-read`, true],
    [`${plain}/chunks-4`, true],
    [`${plain}/beside-compute`, true],
    [`${plain}/beside-memory`, true],
    [`${plain}/beside-host`, false],
    [`${plain}/blocks-4096-kernel`, true],
    [`${plain}/blocks-4096-gather`, true],
    [`${plain}/blocks-4096-loop`, false],
  ])("in %s: %s", (id, expected) => {
    expect(takesKernel(parseCellId(id)) ?? false).toBe(expected);
  });

  it("in a pipeline for 20 ms per GB, rounded up to whole nanoseconds", () => {
    expect(computeNs({ sizeBytes: 1e9 })).toBe(20e6);
    expect(computeNs({ sizeBytes: 51 })).toBe(2);
  });
});
