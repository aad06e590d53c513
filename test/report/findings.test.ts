import { describe, expect, it } from "vitest";
import { findings } from "../../src/report/findings/answer.js";
import { compareIntervals, leanestBest } from "../../src/report/findings/finding-evidence.js";
import { pinnedAgainstPageable } from "../../src/report/findings/finding-topics.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  buildEmulatedDocument,
  buildFailed,
  type CellPart,
  defaultSweepCells,
  KiB,
  MiB,
  ofFiveProcesses,
} from "../helpers/result-document.js";

/** Of one process, whose figures other processes find in wider intervals than its own. */
const textOf = (cells: CellResult[]) => findings(buildDocument({ cells })).map(({ text }) => text);

/** The same figures from five processes: their intervals are between processes, and hold unchanged. */
const textOfProcesses = (cells: CellResult[]) => textOf(cells.map(ofFiveProcesses));

function pair(sizeBytes: number, pageable: number, pinned: number, part: CellPart = {}): CellResult[] {
  return [
    buildCell({ ...part, memory: "pageable", sizeBytes, GBps: pageable }),
    buildCell({ ...part, memory: "pinned", sizeBytes, GBps: pinned }),
  ];
}

describe("compareIntervals", () => {
  const around = (median: number, half: number) => ({ median, low: median - half, high: median + half });

  it.each([
    ["above where the interval of the ratio lies above 1", around(30, 10), around(10, 5), "above"],
    ["below likewise", around(10, 5), around(30, 10), "below"],
    [
      "above where the intervals overlap and the ratio is certain all the same",
      around(11, 0.6),
      around(10, 0.6),
      "above",
    ],
    ["equal where it does not and both are narrow", around(10, 0.4), around(10.5, 0.4), "equal"],
    ["open where the first is wide", around(10, 2), around(10, 0.1), "open"],
    ["open where the second is wide", around(10, 0.1), around(10, 2), "open"],
  ])("is %s", (_, one, other, verdict) => {
    expect(compareIntervals(one, other, 0.05)).toBe(verdict);
  });

  it("does not take fewer workers for as good as the best where their interval is wide", () => {
    const rate = (workers: number, median: number, half: number) =>
      ({
        workerKind: "thread",
        memory: "staged",
        sizeBytes: MiB,
        workers,
        estimate: around(median, half),
      }) as const;
    expect(leanestBest([rate(4, 40, 20), rate(8, 50, 1), rate(12, 50.5, 1)], 0.05)?.workers).toBe(8);
    expect(leanestBest([rate(4, 40, 20), rate(8, 50, 20)], 0.05)?.workers).toBe(8);
  });
});

describe("pinned against pageable", () => {
  it("says from which size on it pays, and where it does not", () => {
    const cells = [...pair(64 * KiB, 10, 10.01), ...pair(MiB, 10, 30), ...pair(16 * MiB, 10, 30.02)];
    expect(textOfProcesses(cells)).toEqual([
      "pinned is 2.9× to 3.1× pageable from 1 MiB up and it gains nothing at 64 KiB (H2D)",
    ]);
  });

  it("gives a range, from the least that the ratio may be at any size to the most", () => {
    expect(textOfProcesses([...pair(MiB, 10, 20), ...pair(16 * MiB, 10, 30)])).toEqual([
      "pinned is 1.98× to 3.1× pageable at every size (H2D)",
    ]);
  });

  it("claims no gain if narrow intervals allow equality, and nothing if wide ones do", () => {
    const textWith = (pinned: number, relativeHalfWidth: number) =>
      textOfProcesses(pair(MiB, 10, pinned, { relativeHalfWidth }));
    expect(textWith(10.5, 0.045)).toEqual(["pinned gains nothing at 1 MiB (H2D)"]);
    expect(textWith(10.5, 0.06)).toEqual([
      "these intervals do not show whether pinned or pageable is faster at 1 MiB (H2D)",
    ]);
    expect(textWith(11, 0.04)).toEqual(["pinned is 1.03× to 1.17× pageable at 1 MiB (H2D)"]);
  });

  it("claims nothing of one process that another one would deny", () => {
    expect(textOf(pair(MiB, 10, 11))).toEqual([
      "these intervals do not show whether pinned or pageable is faster at 1 MiB (H2D)",
    ]);
    expect(textOf(pair(MiB, 10, 10.01))).toEqual([
      "these intervals do not show whether pinned or pageable is faster at 1 MiB (H2D)",
    ]);
    expect(textOf(pair(MiB, 10, 30))).toEqual(["pinned is 2.6× to 3.4× pageable at 1 MiB (H2D)"]);
  });

  it("leaves out the sizes that show nothing where others do", () => {
    const wide = { relativeHalfWidth: 0.69 };
    expect(textOf([...pair(64 * KiB, 10, 12, wide), ...pair(MiB, 10, 30)])).toEqual([
      "pinned is 2.6× to 3.4× pageable at 1 MiB (H2D)",
    ]);
  });

  it("takes intervals for equal that are as wide as the run was asked for", () => {
    const document = buildDocument({
      cells: pair(MiB, 10, 11, { relativeHalfWidth: 0.09 }).map(ofFiveProcesses),
    });
    const coarse = { ...document, plan: { ...document.plan!, precision: 0.1 } };
    expect(findings(coarse)[0]?.text).toBe("pinned gains nothing at 1 MiB (H2D)");
  });

  it("says where pinned is the slower", () => {
    expect(textOf(pair(MiB, 10, 8))).toEqual(["pinned is only 0.71× to 0.90× pageable at 1 MiB (H2D)"]);
  });

  it("says once what holds for both directions, and gives two figures if only they differ", () => {
    const d2h = { direction: "d2h" } as const;
    const textWith = (pinnedD2h: number) =>
      textOfProcesses([...pair(MiB, 10, 30), ...pair(MiB, 10, pinnedD2h, d2h)]);
    expect(textWith(30)).toEqual(["pinned is 2.9× to 3.1× pageable at 1 MiB (H2D and D2H)"]);
    expect(textWith(20)).toEqual(["pinned is 2.9× to 3.1× (H2D) and 1.98× to 2.1× (D2H) pageable at 1 MiB"]);
    expect(textWith(10)).toEqual([
      "H2D: pinned is 2.9× to 3.1× pageable at 1 MiB; D2H: pinned gains nothing at 1 MiB",
    ]);
  });

  it("keeps ranges whole of which one end alone differs", () => {
    const textWith = (...rates: [number, number, number, number]) => {
      const [a, b, c, d] = rates;
      const h2d = [...pair(MiB, 10, a), ...pair(16 * MiB, 10, b)];
      const d2h = [...pair(MiB, 10, c, { direction: "d2h" }), ...pair(16 * MiB, 10, d, { direction: "d2h" })];
      return textOfProcesses([...h2d, ...d2h]);
    };
    expect(textWith(20, 30, 20, 40)).toEqual([
      "pinned is 1.98× to 3.1× (H2D) and 1.98× to 4.1× (D2H) pageable at every size",
    ]);
    expect(textWith(20, 40, 30, 40)).toEqual([
      "pinned is 1.98× to 4.1× (H2D) and 2.9× to 4.1× (D2H) pageable at every size",
    ]);
  });

  it("takes no evidence from cells that failed, came back wrong, or have no interval", () => {
    expect(textOf(pair(MiB, 10, 30, { relativeHalfWidth: null }))).toEqual([]);
    const [pageable, pinned] = pair(MiB, 10, 30);
    expect(textOf([pageable!, { ...pinned!, outcome: "failed" }])).toEqual([]);
  });
});

describe("staging", () => {
  const staged = (workers: number, GBps: number) =>
    buildCell({ memory: "staged", sizeBytes: 64 * MiB, workers, GBps });

  it("names the fewest workers that do as well as any", () => {
    const cells = [...pair(64 * MiB, 18, 55), staged(4, 37), staged(8, 50.4), staged(12, 50.5)];
    expect(textOfProcesses(cells)).toContain(
      "8 staging workers reach 91 % to 93 % of pinned from pageable memory at 64 MiB (H2D)",
    );
  });

  it("says when it gains nothing, or matches pinned", () => {
    expect(textOf([...pair(64 * MiB, 18, 55), staged(1, 10)])).toContain(
      "staging gains nothing over the driver's own pageable copies at 64 MiB (H2D)",
    );
    expect(textOfProcesses([...pair(64 * MiB, 18, 55), staged(16, 54.8)])).toContain(
      "16 staging workers reach the rate of pinned from pageable memory at 64 MiB (H2D)",
    );
  });
});

describe("staging with wide intervals", () => {
  const staged = buildCell({ memory: "staged", sizeBytes: 64 * MiB, GBps: 50, relativeHalfWidth: 0.3 });

  it("is not told apart from what overlaps", () => {
    expect(textOf([...pair(64 * MiB, 40, 55), staged])).toContain(
      "these intervals do not show whether staging or the driver's own pageable copies are faster at 64 MiB (H2D)",
    );
    expect(textOf([buildCell({ sizeBytes: 64 * MiB, GBps: 55 }), staged])).toContain(
      "these intervals do not show whether staging or pinned is faster at 64 MiB (H2D)",
    );
  });

  it("is set against pageable if that alone can be said", () => {
    expect(textOf([...pair(64 * MiB, 20, 55), staged])).toContain(
      "1 staging worker reaches 1.43× to 3.9× the rate of the driver's own pageable copies at 64 MiB (H2D)",
    );
  });
});

describe("workers on pageable memory", () => {
  const pageable = (workers: number, GBps: number, part: CellPart = {}) =>
    buildCell({ ...part, memory: "pageable", workers, GBps });

  it("do neither for certain if the intervals are wide", () => {
    expect(textOf([pageable(1, 10), pageable(4, 11, { relativeHalfWidth: 0.5 })])).toEqual([
      "these intervals do not show whether pageable is faster with 1 or with 4 workers at 16 MiB (H2D)",
    ]);
  });

  describe("of both kinds", () => {
    const bothKinds = (threads: number, processes: number, part: CellPart = {}) =>
      textOfProcesses([
        pageable(1, 10),
        pageable(4, threads, part),
        pageable(1, 10, { workerKind: "process" }),
        pageable(4, processes, { ...part, workerKind: "process" }),
      ]);

    it("help as processes alone", () => {
      expect(bothKinds(10.02, 30)).toEqual([
        "4 processes make pageable 2.9× to 3.1× as fast as 1 at 16 MiB (H2D); pageable does not get faster with " +
          "threads at 16 MiB (H2D)",
      ]);
    });

    it("help as threads alone, and may hurt as processes", () => {
      expect(bothKinds(18, 5)).toEqual([
        "pageable gets slower with processes at 16 MiB: 0.49× to 0.51× with 4 (H2D); 4 threads make pageable 1.78× " +
          "to 1.82× as fast as 1 at 16 MiB (H2D)",
      ]);
    });

    it("leave open what the intervals do", () => {
      expect(bothKinds(10.02, 11, { relativeHalfWidth: 0.5 })).toEqual([
        "these intervals do not show whether pageable is faster with 1 or with 4 processes at 16 MiB (H2D); these " +
          "intervals do not show whether pageable is faster with 1 or with 4 threads at 16 MiB (H2D)",
      ]);
    });

    it("say in both directions which kind helps", () => {
      const both = (workers: number, GBps: number, workerKind: "thread" | "process" = "thread") => [
        pageable(workers, GBps, { workerKind }),
        pageable(workers, GBps * 1.5, { workerKind, direction: "d2h" }),
      ];
      expect(
        textOfProcesses([
          ...both(1, 10),
          ...both(4, 10),
          ...both(1, 10, "process"),
          ...both(4, 30, "process"),
        ]),
      ).toEqual([
        "4 processes make pageable 2.9× to 3.1× as fast as 1 at 16 MiB (H2D and D2H); pageable does not get faster " +
          "with threads at 16 MiB (H2D and D2H)",
      ]);
    });

    it("are reported for each kind that has several numbers of workers", () => {
      const threads = [pageable(1, 10), pageable(4, 18)];
      const process = pageable(8, 99, { workerKind: "process" });
      expect(textOfProcesses([...threads, process])).toEqual([
        "4 threads make pageable 1.78× to 1.82× as fast as 1 at 16 MiB (H2D)",
      ]);
      const processes = [1, 4].map((workers) => pageable(workers, 10 * workers, { workerKind: "process" }));
      expect(textOfProcesses(processes)).toEqual([
        "4 processes make pageable 3.9× to 4.1× as fast as 1 at 16 MiB (H2D)",
      ]);
    });
  });

  it("of processes have no part in what is said of threads", () => {
    const cells = pair(MiB, 10, 20);
    const processes = pair(MiB, 1, 50, { workerKind: "process" });
    expect(textOfProcesses([...processes, ...cells])).toEqual(textOfProcesses(cells));
  });

  it("make it faster, slower or neither", () => {
    const textWith = (GBps: number) => textOfProcesses([pageable(1, 10), pageable(4, GBps)]);
    expect(textWith(18)).toEqual(["4 workers make pageable 1.78× to 1.82× as fast as 1 at 16 MiB (H2D)"]);
    expect(textWith(10.02)).toEqual(["pageable does not get faster with workers at 16 MiB (H2D)"]);
    expect(textWith(8)).toEqual(["pageable gets slower with workers at 16 MiB: 0.79× to 0.81× with 4 (H2D)"]);
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
      "both directions at once moved 103.0 GB/s, 91 % to 94 % of H2D and D2H alone together (pinned, 16 MiB, 1 worker)",
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
      "a copy of 4 KiB took 2.50 µs with pinned memory and 3.50 µs with pageable (H2D)",
    ]);
  });

  it("sets other page-locked kinds against pinned", () => {
    const cells = [
      buildCell({ GBps: 55 }),
      buildCell({ memory: "registered", GBps: 55.1 }),
      buildCell({ memory: "mapped", GBps: 51.5 }),
    ];
    expect(textOf(cells)).toEqual([
      "registered is as fast as pinned at 16 MiB and mapped reaches 92 % to 95 % of pinned at 16 MiB (H2D)",
    ]);
  });

  it("claim neither equality nor difference if wide intervals overlap", () => {
    const wide = { relativeHalfWidth: 0.4 };
    const pinned = buildCell({ GBps: 55 });
    const registered = buildCell({ memory: "registered", GBps: 50, ...wide });
    expect(textOf([pinned, registered])).toEqual([
      "these intervals do not show whether pinned is faster than registered at 16 MiB (H2D)",
    ]);
    expect(textOf([pinned, registered, buildCell({ memory: "mapped", GBps: 51.5 })])).toEqual([
      "mapped reaches 92 % to 95 % of pinned at 16 MiB (H2D)",
    ]);
    const latencies = (["pageable", "pinned"] as const).map((memory) =>
      buildCell({ memory, mode: "latency", GBps: 1, latencyUs: { median: 3, p99: 5 }, ...wide }),
    );
    expect(textOf(latencies)).toEqual([
      "these intervals do not show whether a copy of 16 MiB is faster from pinned or from pageable memory (H2D)",
    ]);
    const bidir = buildCell({ direction: "bidir", GBps: { h2d: 50, d2h: 50, sum: 100 }, ...wide });
    expect(textOf([bidir, pinned, buildCell({ direction: "d2h", GBps: 55 })])).toEqual([
      "both directions at once moved 100.0 GB/s (pinned, 16 MiB, 1 worker)",
    ]);
  });

  it("does not mix timers: only like is compared with like", () => {
    const cells = [buildCell({ memory: "pageable", GBps: 10 }), buildCell({ GBps: 55, timer: "event" })];
    expect(textOf(cells)).toEqual([]);
  });

  it.each([
    ["device", { device: 0 }, { device: 1 }],
    ["timer", { timer: "wall" }, { timer: "event" }],
    ["cache state", { cache: "cold" }, { cache: "warm" }],
  ] as const)("are of the second %s if nothing of the first was measured", (_, first, second) => {
    const failed = buildFailed(first, "CUDA_ERROR_UNKNOWN", "unknown error");
    const measured = textOf(pair(MiB, 10, 55, second));
    expect(measured).toHaveLength(1);
    expect(textOf([failed, ...pair(MiB, 10, 55, second)])).toEqual(measured);
  });
});

describe("the closing lines", () => {
  it("are three at most for a default sweep", () => {
    expect(textOf(defaultSweepCells())).toEqual([
      "pinned is 1.51× to 5.9× (H2D) and 2.5× to 6.4× (D2H) pageable at every size, with 1 worker",
      "4 staging workers reach 57 % to 88 % (H2D) and 56 % to 86 % (D2H) of pinned from pageable memory at 256 MiB",
      "these intervals do not show whether pageable is faster with 1 or with 2 workers at 256 MiB (H2D and D2H)",
    ]);
  });

  it("are none if nothing was compared", () => {
    expect(textOf([buildCell({ GBps: 55 })])).toEqual([]);
  });

  it("speak of this machine's memory on the emulated device", () => {
    const [line] = findings(buildEmulatedDocument({ cells: pair(MiB, 10, 30) }));
    expect(line?.text).toBe("in this machine's memory, pinned is 2.6× to 3.4× pageable at 1 MiB (H2D)");
  });

  it("name the device if there are several", () => {
    const devices = [buildDevice({ ordinal: 2 }), buildDevice({ ordinal: 3 })];
    const cells = [...pair(MiB, 10, 30, { device: 2 }), ...pair(MiB, 10, 20, { device: 3 })];
    expect(findings(buildDocument({ cells, devices }))[0]?.text).toBe(
      "on device 2, pinned is 2.6× to 3.4× pageable at 1 MiB (H2D)",
    );
  });

  it("leave out what has been said", () => {
    const said = { topics: [pinnedAgainstPageable], variants: [] };
    expect(findings(buildDocument({ cells: pair(MiB, 10, 30) }), said)).toEqual([]);
  });
});
