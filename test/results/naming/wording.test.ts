import { describe, expect, it } from "vitest";
import { cellId } from "../../../src/results/cell-id.js";
import type { Cell } from "../../../src/results/cell-schema.js";
import { cellNames } from "../../../src/results/naming/wording.js";
import { KiB, MiB } from "../../helpers/result-document.js";

const usual: Cell = {
  device: 0,
  direction: "h2d",
  memory: "pinned",
  sizeBytes: 64 * MiB,
  workers: 4,
  mode: "throughput",
  timer: "wall",
  cache: "cold",
};
const idOf = (part: Partial<Cell>) => cellId({ ...usual, ...part });
const nameAlone = (part: Partial<Cell>) => cellNames([idOf(part)], { showsIds: false })(idOf(part));

describe("the name of a cell", () => {
  it.each([
    [{}, "H2D pinned 64 MiB x4"],
    [{ direction: "bidir", workers: 1 }, "H2D+D2H pinned 64 MiB x1"],
    [{ direction: "d2d", memory: "device" }, "D2D 64 MiB x4"],
    [{ mode: "latency", sizeBytes: 4 * KiB, workers: 1 }, "H2D pinned 4 KiB x1 latency"],
    [{ workerKind: "process" }, "H2D pinned 64 MiB x4 processes"],
    [{ workerKind: "process", workers: 1 }, "H2D pinned 64 MiB x1 process"],
    [{ together: [0, 1] }, "H2D pinned 64 MiB x4 together"],
    [{ direction: "p2p", memory: "device", peer: 1, path: "read", workers: 1 }, "P2P 0→1 read 64 MiB x1"],
    [{ beside: "compute" }, "H2D pinned 64 MiB x4 beside compute"],
    [{ chunks: 1 }, "H2D pinned 64 MiB x4 in 1 chunk"],
    [{ chunks: 8 }, "H2D pinned 64 MiB x4 in 8 chunks"],
    [{ blockBytes: 64 * KiB, blockWay: "loop" }, "H2D pinned 1024 × 64 KiB x4 loop"],
    [{ blockBytes: 64 * MiB, blockWay: "kernel", blockSms: 8 }, "H2D pinned 1 × 64 MiB x4 kernel on 8 SMs"],
    [{ sizeBytes: 100_000 }, "H2D pinned 100000 B x4"],
  ] as [Partial<Cell>, string][])("of %j is %s", (part, expected) => {
    expect(nameAlone(part)).toBe(expected);
  });

  it("says what is not the same in all cells of its document, and nothing else", () => {
    const ids = [idOf({}), idOf({ device: 1, timer: "event", cache: "warm" })];
    expect(ids.map(cellNames(ids, { showsIds: false }))).toEqual([
      "d0 H2D pinned 64 MiB x4 wall clock cold",
      "d1 H2D pinned 64 MiB x4 event timer warm",
    ]);
    const together = [idOf({ together: [0, 1] }), idOf({ together: [0, 1, 2] })];
    expect(together.map(cellNames(together, { showsIds: false }))).toEqual([
      "H2D pinned 64 MiB x4 together 0+1",
      "H2D pinned 64 MiB x4 together 0+1+2",
    ]);
  });

  it("is the cell's own, whatever sets it apart from the others", () => {
    const parts: Partial<Cell>[] = [
      {},
      { device: 1 },
      { direction: "d2h" },
      { direction: "bidir" },
      { memory: "pageable" },
      { memory: "host" },
      { sizeBytes: 64 * MiB + 1 },
      { workers: 2 },
      { mode: "latency" },
      { timer: "event" },
      { cache: "warm" },
      { workerKind: "process" },
      { together: [0, 1] },
      { together: [0, 2] },
      { beside: "memory" },
      { beside: "host" },
      { chunks: 1 },
      { chunks: 2 },
      { direction: "p2p", memory: "device", peer: 1, path: "read" },
      { direction: "p2p", memory: "device", peer: 2, path: "read" },
      { direction: "p2p", memory: "device", peer: 1, path: "write" },
      { device: 1, direction: "p2p", memory: "device", peer: 0, path: "write" },
    ];
    const ids = parts.flatMap((one) => parts.map((other) => idOf({ ...one, ...other })));
    const different = [...new Set(ids)];
    const names = different.map(cellNames(different, { showsIds: false }));
    expect(new Set(names).size).toBe(different.length);
  });

  it("is its id if ids are asked for, and for what is no cell's", () => {
    const ids = [idOf({}), "no cell"];
    expect(ids.map(cellNames(ids, { showsIds: true }))).toEqual(ids);
    expect(cellNames(ids, { showsIds: false })("no cell")).toBe("no cell");
  });
});
