import { describe, expect, it } from "vitest";
import { findings } from "../../src/report/findings.js";
import type { CellResult } from "../../src/results/schema.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  buildEmulatedDocument,
  buildMismatch,
  type CellPart,
  defaultSweepCells,
  KiB,
  MiB,
} from "../helpers/result-document.js";

const textOf = (cells: CellResult[]) => findings(buildDocument({ cells })).map(({ text }) => text);

function pair(sizeBytes: number, pageable: number, pinned: number, part: CellPart = {}): CellResult[] {
  return [
    buildCell({ ...part, memory: "pageable", sizeBytes, GBps: pageable }),
    buildCell({ ...part, memory: "pinned", sizeBytes, GBps: pinned }),
  ];
}

const nothing = [
  "no comparison was measured: it takes two memory kinds or two worker counts, with intervals",
];

describe("pinned against pageable", () => {
  it("says from which size on it pays, and where it does not", () => {
    expect(
      textOf([...pair(64 * KiB, 10, 10.01), ...pair(MiB, 10, 30), ...pair(16 * MiB, 10, 30.02)]),
    ).toEqual(["pinned is 3.0× pageable from 1 MiB up and it gains nothing at 64 KiB (H2D)"]);
  });

  it("gives a range where the gain varies", () => {
    expect(textOf([...pair(MiB, 10, 20), ...pair(16 * MiB, 10, 30)])).toEqual([
      "pinned is 2.0× to 3.0× pageable at every size (H2D)",
    ]);
  });

  it("claims nothing where the intervals overlap", () => {
    expect(textOf(pair(MiB, 10, 11, { relativeHalfWidth: 0.06 }))).toEqual([
      "pinned gains nothing at 1 MiB (H2D)",
    ]);
    expect(textOf(pair(MiB, 10, 11, { relativeHalfWidth: 0.04 }))).toEqual([
      "pinned is 1.10× pageable at 1 MiB (H2D)",
    ]);
  });

  it("says where pinned is the slower", () => {
    expect(textOf(pair(MiB, 10, 8))).toEqual(["pinned is only 0.80× pageable at 1 MiB (H2D)"]);
  });

  it("says once what holds for both directions, and gives two figures where only they differ", () => {
    const d2h = { direction: "d2h" } as const;
    expect(textOf([...pair(MiB, 10, 30), ...pair(MiB, 10, 30, d2h)])).toEqual([
      "pinned is 3.0× pageable at 1 MiB (H2D and D2H)",
    ]);
    expect(textOf([...pair(MiB, 10, 30), ...pair(MiB, 10, 20, d2h)])).toEqual([
      "pinned is 3.0× (H2D) and 2.0× (D2H) pageable at 1 MiB",
    ]);
    expect(textOf([...pair(MiB, 10, 30), ...pair(MiB, 10, 10, d2h)])).toEqual([
      "H2D: pinned is 3.0× pageable at 1 MiB; D2H: pinned gains nothing at 1 MiB",
    ]);
  });

  it("takes no evidence from cells that failed, came back wrong, or have no interval", () => {
    expect(textOf(pair(MiB, 10, 30, { relativeHalfWidth: null }))).toEqual(nothing);
    const [pageable, pinned] = pair(MiB, 10, 30);
    expect(textOf([pageable!, { ...pinned!, outcome: "failed" }])).toEqual(nothing);
  });
});

describe("staging", () => {
  const staged = (workers: number, GBps: number) =>
    buildCell({ memory: "staged", sizeBytes: 64 * MiB, workers, GBps });

  it("names the fewest workers that do as well as any", () => {
    const lines = textOf([...pair(64 * MiB, 18, 55), staged(4, 37), staged(8, 50.4), staged(12, 50.5)]);
    expect(lines).toContain("8 staging workers reach 91 % of pinned from pageable memory at 64 MiB (H2D)");
  });

  it("says when it gains nothing, or matches pinned", () => {
    expect(textOf([...pair(64 * MiB, 18, 55), staged(1, 10)])).toContain(
      "staging gains nothing over the driver's own pageable copies at 64 MiB (H2D)",
    );
    expect(textOf([...pair(64 * MiB, 18, 55), staged(16, 54.8)])).toContain(
      "16 staging workers reach the rate of pinned from pageable memory at 64 MiB (H2D)",
    );
  });
});

describe("workers on pageable memory", () => {
  const pageable = (workers: number, GBps: number) => buildCell({ memory: "pageable", workers, GBps });

  it("make it faster, slower or neither", () => {
    expect(textOf([pageable(1, 10), pageable(4, 18)])).toEqual([
      "4 workers make pageable 1.80× as fast as 1 at 16 MiB (H2D)",
    ]);
    expect(textOf([pageable(1, 10), pageable(4, 10.02)])).toEqual([
      "pageable does not get faster with workers at 16 MiB (H2D)",
    ]);
    expect(textOf([pageable(1, 10), pageable(4, 8)])).toEqual([
      "pageable gets slower with workers at 16 MiB: 0.80× with 4 (H2D)",
    ]);
  });
});

describe("other comparisons", () => {
  it("sets both directions at once against each alone", () => {
    const cells = [
      buildCell({ direction: "bidir", GBps: { h2d: 52.3, d2h: 50.7, sum: 103 } }),
      buildCell({ GBps: 55.4 }),
      buildCell({ direction: "d2h", GBps: 55.4 }),
    ];
    expect(textOf(cells)).toEqual([
      "both directions at once move 103.0 GB/s, 92 % of H2D and D2H alone together (pinned, 16 MiB, 1 worker)",
    ]);
  });

  it("compares latencies at the smallest size", () => {
    const cells = (["pageable", "pinned"] as const).map((memory, index) =>
      buildCell({
        memory,
        mode: "latency",
        sizeBytes: 4 * KiB,
        GBps: 1,
        latencyUs: { median: 3.5 - index, p99: 5 },
      }),
    );
    expect(textOf(cells)).toEqual([
      "a copy of 4 KiB takes 2.50 µs with pinned memory and 3.50 µs with pageable (H2D)",
    ]);
  });

  it("sets other page-locked kinds against pinned", () => {
    const cells = [
      buildCell({ GBps: 55 }),
      buildCell({ memory: "registered", GBps: 55.1 }),
      buildCell({ memory: "mapped", GBps: 51.5 }),
    ];
    expect(textOf(cells)).toEqual([
      "registered is as fast as pinned at 16 MiB and mapped reaches 93 % of pinned at 16 MiB (H2D)",
    ]);
  });

  it("does not mix timers: only like is compared with like", () => {
    const cells = [buildCell({ memory: "pageable", GBps: 10 }), buildCell({ GBps: 55, timer: "event" })];
    expect(textOf(cells)).toEqual(nothing);
  });
});

describe("the closing lines", () => {
  it("are three at most for a default sweep", () => {
    expect(textOf(defaultSweepCells())).toEqual([
      "pinned is 1.84× to 5.2× (H2D) and 2.8× to 5.1× (D2H) pageable at every size, with 1 worker",
      "4 staging workers reach 71 % (H2D) and 69 % (D2H) of pinned from pageable memory at 256 MiB",
      "pageable does not get faster with workers at 256 MiB (H2D and D2H)",
    ]);
  });

  it("say that nothing was compared where nothing was", () => {
    expect(textOf([buildCell({ GBps: 55 })])).toEqual(nothing);
  });

  it("speak of this machine's memory on the emulated device", () => {
    const [line] = findings(buildEmulatedDocument({ cells: pair(MiB, 10, 30) }));
    expect(line?.text).toBe("in this machine's memory, pinned is 3.0× pageable at 1 MiB (H2D)");
  });

  it("name the device where there are several", () => {
    const devices = [buildDevice({ ordinal: 2 }), buildDevice({ ordinal: 3 })];
    const cells = [...pair(MiB, 10, 30, { device: 2 }), ...pair(MiB, 10, 20, { device: 3 })];
    expect(findings(buildDocument({ cells, devices }))[0]?.text).toBe(
      "on device 2, pinned is 3.0× pageable at 1 MiB (H2D)",
    );
  });

  it("begin with wrong data, as loudly as can be", () => {
    const [first] = findings(buildDocument({ cells: [...pair(MiB, 10, 30), buildMismatch({ GBps: 50 })] }));
    expect(first?.tone).toBe("mismatch");
    expect(first?.text).toMatch(/^DATA CAME BACK WRONG in 1 of 3 cells/);
  });
});
