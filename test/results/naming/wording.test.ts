import { describe, expect, it } from "vitest";
import { cellId } from "../../../src/results/cell-id.js";
import type { Cell } from "../../../src/results/cell-schema.js";
import {
  cellNames,
  countedCpus,
  guestOf,
  labelsLine,
  pcieLink,
} from "../../../src/results/naming/wording.js";
import { buildHost, KiB, MiB } from "../../helpers/result-document.js";

const usual: Cell = {
  device: 0,
  direction: "h2d",
  memory: "pinned",
  sizeBytes: 64 * MiB,
  workers: 4,
  mode: "throughput",
  cache: "cold",
};
const idOf = (part: Partial<Cell>) => cellId({ ...usual, ...part });
const nameAlone = (part: Partial<Cell>) => cellNames([idOf(part)])(idOf(part));

describe("the name of a cell", () => {
  it.each([
    [{}, "H2D pinned 64 MiB x4"],
    [{ direction: "bidir", workers: 1 }, "H2D+D2H pinned 64 MiB"],
    [{ direction: "d2d", memory: "device" }, "D2D 64 MiB x4"],
    [{ mode: "latency", sizeBytes: 4 * KiB, workers: 1 }, "H2D pinned 4 KiB latency"],
    [{ workerKind: "process" }, "H2D pinned 64 MiB x4 processes"],
    [{ workerKind: "process", workers: 1 }, "H2D pinned 64 MiB process"],
    [{ together: [0, 1] }, "H2D pinned 64 MiB x4 together"],
    [{ direction: "p2p", memory: "device", peer: 1, path: "read", workers: 1 }, "P2P 0→1 read 64 MiB"],
    [{ beside: "compute" }, "H2D pinned 64 MiB x4 beside compute"],
    [{ chunks: 1 }, "H2D pinned 64 MiB x4 in 1 chunk"],
    [{ chunks: 8 }, "H2D pinned 64 MiB x4 in 8 chunks"],
    [{ blockBytes: 64 * KiB, blockWay: "loop" }, "H2D pinned 1024 × 64 KiB x4 loop"],
    [{ blockBytes: 64 * MiB, blockWay: "kernel" }, "H2D pinned 1 × 64 MiB x4 kernel"],
    [{ sizeBytes: 100_000 }, "H2D pinned 100000 B x4"],
    [{ cpuNode: 1, memoryNode: 1 }, "H2D pinned 64 MiB x4 node 1"],
    [{ cpuNode: 0, memoryNode: 1 }, "H2D pinned 64 MiB x4 node 1 CPUs of 0"],
  ] as [Partial<Cell>, string][])("with %j is %s", (part, expected) => {
    expect(nameAlone(part)).toBe(expected);
  });

  it("adds only what differs between the cells of its document", () => {
    const ids = [idOf({}), idOf({ device: 1, cache: "warm" })];
    expect(ids.map((id) => cellNames(ids)(id))).toEqual([
      "d0 H2D pinned 64 MiB x4 cold",
      "d1 H2D pinned 64 MiB x4 warm",
    ]);
    const together = [idOf({ together: [0, 1] }), idOf({ together: [0, 1, 2] })];
    expect(together.map((id) => cellNames(together)(id))).toEqual([
      "H2D pinned 64 MiB x4 together 0+1",
      "H2D pinned 64 MiB x4 together 0+1+2",
    ]);
  });

  it("is different for any two cells of a document", () => {
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
    const names = different.map((id) => cellNames(different)(id));
    expect(new Set(names).size).toBe(different.length);
  });

  it("is the text itself for a text that is no cell's id", () => {
    expect(cellNames([idOf({}), "no cell"])("no cell")).toBe("no cell");
  });
});

it("the text on a host names its hypervisor and its container, if any", () => {
  const around = (virtualization: string | null, container: string | null) =>
    guestOf(buildHost({ virtualization, container }));
  expect([around("kvm", "docker"), around(null, "docker"), around("kvm", null), around(null, null)]).toEqual([
    ...[["in kvm and docker"], ["in docker"], ["in kvm"], []],
  ]);
});

it("texts have the number of CPUs with their quota, and a link's generation and width", () => {
  expect([countedCpus(1, null), countedCpus(16, 2.5)]).toEqual(["1 CPU", "16 CPUs (quota 2.5)"]);
  expect(pcieLink(5, 16)).toBe("gen5 x16");
});

it("the labels of a run are one line, or null without any", () => {
  expect(labelsLine({ run: { labels: { rack: "7", row: "b" } } })).toBe("rack=7; row=b");
  expect([labelsLine({ run: { labels: {} } }), labelsLine({ run: {} })]).toEqual([null, null]);
});
