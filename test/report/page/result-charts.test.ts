import { describe, expect, it } from "vitest";
import type { BarChart, Chart, CurveChart } from "../../../src/draw/chart/chart.js";
import { resultPictures } from "../../../src/report/page/result-charts.js";
import type { CellResult } from "../../../src/results/cell-schema.js";
import {
  buildCell,
  buildColdStart,
  buildDevice,
  buildDocument,
  buildEmulatedDocument,
  type CellPart,
  type DocumentPart,
  defaultSweepCells,
  KiB,
  MiB,
  ofFiveProcesses,
} from "../../helpers/result-document.js";

const chartsOf = (part: DocumentPart) => resultPictures(buildDocument(part)).charts;

function named<Kind extends Chart = CurveChart>(charts: readonly Chart[], name: string): Kind {
  const chart = charts.find((one) => one.name === name);
  expect(chart, `${name} among ${charts.map((one) => one.name).join(", ")}`).toBeDefined();
  return chart as Kind;
}

/** What the points of each curve are: "64 KiB: 17.7 GB/s ±0.5 %". */
const textsOf = ({ curves }: CurveChart) =>
  Object.fromEntries(curves.map(({ name, points }) => [name, points.map(({ text }) => text)]));

/** What is written before and behind each bar of a group. */
const barsOf = ({ groups }: BarChart) =>
  Object.fromEntries(groups.map(({ name, bars }) => [name, bars.map((bar) => `${bar.name}: ${bar.text}`)]));

/** The same cell at several sizes, each with a rate of its own. */
const bySize = (part: CellPart, rates: readonly number[]) =>
  rates.map((GBps, index) => buildCell({ ...part, sizeBytes: 64 * KiB * 16 ** index, GBps }));

describe("the charts of a default sweep", () => {
  const charts = chartsOf({ cells: defaultSweepCells(), coldStart: [buildColdStart()] });

  it("have names that tell them apart and that do not change from run to run", () => {
    expect(charts.map(({ name }) => name)).toEqual([
      "h2d-by-size",
      "d2h-by-size",
      "pinned-over-pageable-by-size",
      "h2d-by-workers",
      "d2h-by-workers",
      "cost-of-pinning-by-size",
      "h2d-pinning-pays-off-by-size",
      "d2h-pinning-pays-off-by-size",
      "samples-over-time",
      "samples-distribution",
    ]);
  });

  it("say what they show, in which unit and with how many workers", () => {
    expect(named(charts, "h2d-by-size").title).toBe("Host to device (H2D): GB/s by size, 1 worker");
    expect(named(charts, "d2h-by-workers").title).toBe(
      "Device to host (D2H): GB/s by number of workers, copies of 256 MiB",
    );
    for (const chart of charts) expect(chart.description).toMatch(/^\S.*\.$/);
  });

  it("tell in words what is seen", () => {
    expect(named(charts, "h2d-by-size").description).toBe(
      "pinned 17.7 GB/s at 64 KiB, 55.4 at 256 MiB; pageable 9.65 GB/s at 64 KiB, 10.6 at 256 MiB; staged 6.74 GB/s at " +
        "64 KiB, 9.88 at 256 MiB. A line shows the link's limit, 63.0 GB/s. The tables also have 2 and 4 workers.",
    );
  });
});

describe("bandwidth by size", () => {
  it("has a curve a memory kind, with the interval of each point and the link's limit as a line", () => {
    const cells = [
      ...bySize({}, [18, 48]),
      ...bySize({ memory: "pageable", relativeHalfWidth: null }, [9, 21]),
    ];
    const chart = named(chartsOf({ cells }), "h2d-by-size");
    expect(textsOf(chart)).toEqual({
      pageable: [
        "64 KiB: 9.00 GB/s, too few samples for an interval",
        "1 MiB: 21.0 GB/s, too few samples for an interval",
      ],
      pinned: ["64 KiB: 18.0 GB/s ±0.4 %", "1 MiB: 48.0 GB/s ±0.4 %"],
    });
    const [point] = chart.curves[1]!.points;
    expect([point!.low, point!.y, point!.high]).toEqual([expect.closeTo(17.928), 18, expect.closeTo(18.072)]);
    expect(chart.rules).toEqual([
      { axis: "y", value: expect.closeTo(63.015, 2), label: "link's limit, 63.0 GB/s" },
    ]);
  });

  it("is of one worker, or of the fewest that were measured at two sizes", () => {
    const ofOneSize = [buildCell({ GBps: 50 }), buildCell({ memory: "pageable", GBps: 10 })];
    const cells = [...ofOneSize, ...bySize({ workers: 2 }, [20, 40])];
    expect(named(chartsOf({ cells }), "h2d-by-size").title).toContain("2 workers");
  });

  it("is told of the curve with the highest end first", () => {
    const cells = [...bySize({ memory: "pageable" }, [20, 11]), ...bySize({}, [10, 50])];
    expect(named(chartsOf({ cells }), "h2d-by-size").description).toMatch(
      /^pinned 10\.0 .*; pageable 20\.0 /,
    );
  });

  it("is the sum of both directions at once, against twice the link's limit", () => {
    const cells = [64 * KiB, MiB].map((sizeBytes) =>
      buildCell({ direction: "bidir", sizeBytes, GBps: { h2d: 40, d2h: 41, sum: 80 } }),
    );
    const chart = named(chartsOf({ cells }), "bidir-by-size");
    expect(chart.curves[0]!.points.map(({ y }) => y)).toEqual([80, 80]);
    expect(chart.rules[0]!.label).toBe("twice the link's limit, 126.0 GB/s");
  });

  it("has no limit within a device, if the link is not known and on the emulated device", () => {
    const d2d = bySize({ direction: "d2d", memory: "device" }, [1000, 2000]);
    expect(named(chartsOf({ cells: d2d }), "d2d-by-size").rules).toEqual([]);
    const emulated = resultPictures(buildEmulatedDocument({ cells: bySize({}, [5, 9]) }));
    expect(named(emulated.charts, "h2d-by-size").rules).toEqual([]);
  });

  it("has a chart a way between devices, a curve a pair", () => {
    const pairs = [
      [0, 1],
      [1, 0],
    ] as const;
    const cells = pairs.flatMap(([device, peer]) =>
      bySize({ direction: "p2p", memory: "device", device, peer, path: "write" }, [100, 390]),
    );
    const devices = [0, 1].map((ordinal) => buildDevice({ ordinal }));
    const chart = named(chartsOf({ cells, devices }), "p2p-write-by-size");
    expect(Object.keys(textsOf(chart))).toEqual(["0 → 1", "1 → 0"]);
  });

  it("draws hollow what the run did not come to the end of", () => {
    const [done, unfinished] = bySize({}, [18, 48]);
    const cells = [done!, { ...unfinished!, outcome: null }];
    const [curve] = named(chartsOf({ cells, run: { status: "aborted" } }), "h2d-by-size").curves;
    expect(curve!.points.map(({ isOpen }) => isOpen === true)).toEqual([false, true]);
    expect(curve!.points[1]!.text).toContain("(not finished)");
  });

  it("is told apart by device, timer and cache state", () => {
    const devices = [0, 1].map((ordinal) => buildDevice({ ordinal }));
    const cells = [
      ...bySize({ device: 1 }, [18, 48]),
      ...bySize({ device: 1, timer: "event" }, [18, 48]),
      ...bySize({ device: 1, cache: "warm" }, [18, 48]),
    ];
    const names = chartsOf({ cells, devices }).map(({ name }) => name);
    expect(names.filter((name) => name.endsWith("by-size"))).toEqual([
      "gpu1-h2d-by-size",
      "gpu1-h2d-warm-by-size",
      "gpu1-h2d-event-by-size",
    ]);
    expect(named(chartsOf({ cells, devices }), "gpu1-h2d-event-by-size").title).toBe(
      "Device 1: Host to device (H2D): GB/s by size, 1 worker, event timer",
    );
  });
});

describe("rates of a single size", () => {
  it("are bars, a group a memory kind", () => {
    const cells = (["h2d", "d2h"] as const).flatMap((direction) => [
      buildCell({ direction, GBps: 55.4 }),
      buildCell({ direction, memory: "pageable", GBps: 10.6 }),
    ]);
    const charts = chartsOf({ cells });
    expect(barsOf(named<BarChart>(charts, "by-memory"))).toEqual({
      pageable: ["Host to device (H2D): 10.6", "Device to host (D2H): 10.6"],
      pinned: ["Host to device (H2D): 55.4", "Device to host (D2H): 55.4"],
    });
    expect(charts.map(({ name }) => name)).not.toContain("h2d-by-size");
  });
});

describe("latency by size", () => {
  const cells = [4 * KiB, 64 * KiB].map((sizeBytes, index) =>
    buildCell({
      sizeBytes,
      mode: "latency",
      GBps: 1,
      latencyUs: { median: 10 * (index + 1), p99: 40 * (index + 1) },
    }),
  );
  const chart = named(chartsOf({ cells }), "h2d-latency-by-size");

  it("reaches from the median to the 99th percentile, both axes logarithmic", () => {
    expect(chart.curves[0]!.points.map(({ low, y, high }) => [low, y, high])).toEqual([
      [10, 10, 40],
      [20, 20, 80],
    ]);
    expect([chart.x.scale, chart.y.scale]).toEqual(["log", "log"]);
    expect(chart.title).toContain("99th percentile");
    expect(chart.rules).toEqual([]);
  });
});

describe("bandwidth by workers", () => {
  const byWorkers = (part: CellPart, rates: readonly number[]) =>
    rates.map((GBps, index) => buildCell({ ...part, workers: 2 ** index, GBps }));

  it("has curves of their own for threads and processes, that look different", () => {
    const cells = [
      ...byWorkers({ memory: "pageable" }, [10, 11, 12]),
      ...byWorkers({ memory: "pageable", workerKind: "process" }, [10, 20, 40]),
    ];
    const { curves } = named(chartsOf({ cells }), "h2d-by-workers");
    expect(curves.map(({ name }) => name)).toEqual(["pageable, threads", "pageable, processes"]);
    expect(curves[0]!.style).not.toBe(curves[1]!.style);
    expect(curves[1]!.points.map(({ x, text }) => `${x}: ${text.slice(0, 11)}`)).toEqual([
      "1: 1 process: ",
      "2: 2 processes",
      "4: 4 processes",
    ]);
  });

  it("is of the largest size, and of the one if more workers gain most if they gain more there", () => {
    const cells = [
      ...byWorkers({ sizeBytes: 64 * KiB }, [10, 20, 40]),
      ...byWorkers({ sizeBytes: 64 * MiB }, [50, 55, 55]),
    ];
    const charts = chartsOf({ cells });
    expect(named(charts, "h2d-by-workers").title).toContain("copies of 64 MiB");
    expect(named(charts, "h2d-by-workers-most-gain").title).toContain(
      "copies of 64 KiB, where more workers gain most (4.0×)",
    );
    const two = [...byWorkers({ sizeBytes: MiB }, [10, 20, 40]), ...cells];
    expect(named(chartsOf({ cells: two }), "h2d-by-workers-most-gain").title).toContain("copies of 1 MiB");
    const alike = [
      ...byWorkers({ sizeBytes: 64 * KiB }, [10, 20]),
      ...byWorkers({ sizeBytes: MiB }, [10, 20]),
    ];
    expect(chartsOf({ cells: alike }).map(({ name }) => name)).not.toContain("h2d-by-workers-most-gain");
  });
});

describe("pinned over pageable", () => {
  const cells = [...bySize({}, [40, 50]), ...bySize({ memory: "pageable" }, [20, 10])];

  it("is the ratio of the medians, with a line if nothing is gained", () => {
    const { curves, rules } = named(chartsOf({ cells }), "pinned-over-pageable-by-size");
    expect(curves[0]!.points.map(({ y }) => y)).toEqual([2, 5]);
    expect(rules).toEqual([{ axis: "y", value: 1, label: "as fast as pageable" }]);
  });

  it("has an interval that is at least as wide as that of either figure", () => {
    const five = named(chartsOf({ cells: cells.map(ofFiveProcesses) }), "pinned-over-pageable-by-size");
    const single = named(chartsOf({ cells }), "pinned-over-pageable-by-size");
    const widths = [five, single]
      .map(({ curves }) => curves[0]!.points[0]!)
      .map(({ low, high }) => high! - low!);
    expect(widths[0]! / 2).toBeGreaterThanOrEqual(2 * 0.004);
    // A single process does not know how others differ from it.
    expect(widths[1]).toBeGreaterThan(widths[0]!);
  });

  it("has none if one of them has none", () => {
    const noInterval = bySize({ relativeHalfWidth: null }, [40, 50]);
    const { curves } = named(
      chartsOf({ cells: [...noInterval, ...cells.slice(2)] }),
      "pinned-over-pageable-by-size",
    );
    expect(curves[0]!.points.map(({ low }) => low)).toEqual([null, null]);
  });
});

describe("the cost of pinning", () => {
  it("is what obtaining and giving back take together", () => {
    const { curves, y } = named(chartsOf({ coldStart: [buildColdStart()] }), "cost-of-pinning-by-size");
    const pinned = curves.find(({ name }) => name === "pinned")!;
    expect(pinned.points[0]!.y).toBeCloseTo(5.1 * 1.25);
    expect(pinned.points[0]!.text).toBe("16 MiB: 5.10 ms obtained, 1.28 ms given back");
    expect(y).toMatchObject({ label: "ms", scale: "log" });
  });

  it("pays off after a number of copies, or at once, and says if that is not known", () => {
    const costs = buildColdStart();
    const [, second] = costs.pinning;
    const unknown = { ...second!, sizeBytes: 1024 * MiB, payOff: null };
    const coldStart = [{ ...costs, pinning: [...costs.pinning, unknown] }];
    const chart = named(chartsOf({ coldStart }), "h2d-pinning-pays-off-by-size");
    expect(textsOf(chart)).toEqual({
      pinned: ["16 MiB: pays off after 3 copies", "256 MiB: pays off after 1 copy"],
      registered: ["16 MiB: pays off at once", "256 MiB: pays off at once"],
    });
    expect(chart.description).toContain("1 size left out");
    const third = { ...second!, sizeBytes: 1024 * MiB };
    const known = [{ ...costs, pinning: [...costs.pinning, third] }];
    const whole = named(chartsOf({ coldStart: known }), "h2d-pinning-pays-off-by-size");
    expect(whole.description).not.toContain("left out");
  });
});

describe("devices at once", () => {
  // Two of four were chosen: their places in the list are not their numbers.
  const devices = [1, 3].map((ordinal) => buildDevice({ ordinal }));
  const cells: CellResult[] = [
    buildCell({ device: 1, GBps: 50 }),
    buildCell({ device: 1, together: [1, 3], GBps: 40 }),
    buildCell({ device: 3, GBps: 40 }),
    buildCell({ device: 3, together: [1, 3], GBps: 14 }),
  ];

  it("stand each against itself alone, the sum beside the name", () => {
    const chart = named<BarChart>(chartsOf({ cells, devices }), "h2d-at-once");
    expect(barsOf(chart)).toEqual({
      "pinned: all devices at once 54.0 GB/s, 60.0 % of alone": [
        "device 1 alone: 50.0",
        "at once: 40.0, 80.0 % of alone",
        "device 3 alone: 40.0",
        "at once: 14.0, 35.0 % of alone",
      ],
    });
    expect(chart.groups[0]!.bars.map(({ isReference }) => isReference === true)).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  it("say nothing of alone if that was not measured", () => {
    const together = cells.filter((cell) => cell.together !== undefined);
    const chart = named<BarChart>(chartsOf({ cells: together, devices }), "h2d-at-once");
    expect(chart.groups[0]!.bars.map(({ text }) => text)).toEqual(["40.0", "14.0"]);
  });

  it("have a bar a pair, and a chart a path if these are many", () => {
    const pairs = (count: number, paths: readonly ("write" | "read")[]) =>
      paths.flatMap((path) =>
        Array.from({ length: count }, (_, device) => device).flatMap((device) =>
          Array.from({ length: count }, (_, peer) => peer)
            .filter((peer) => peer !== device)
            .map((peer) => buildCell({ direction: "p2p", memory: "device", device, peer, path, GBps: 390 })),
        ),
      );
    const eight = Array.from({ length: 8 }, (_, ordinal) => buildDevice({ ordinal }));
    const few = chartsOf({ cells: pairs(3, ["write", "read"]).reverse(), devices: eight.slice(0, 3) });
    const inOrder = ["0 → 1", "0 → 2", "1 → 0", "1 → 2", "2 → 0", "2 → 1"].map((pair) => `${pair}: 390.0`);
    expect(barsOf(named<BarChart>(few, "p2p-pairs"))).toMatchObject({
      "write: the source's copy engine": inOrder,
    });
    const many = chartsOf({ cells: pairs(8, ["write", "read"]), devices: eight }).map(({ name }) => name);
    expect(many).toEqual(expect.arrayContaining(["p2p-write-pairs", "p2p-read-pairs"]));
  });
});

describe("copies beside loads and in chunks", () => {
  it("stand against the copy alone", () => {
    const cells = [
      buildCell({ GBps: 50 }),
      buildCell({ beside: "host", GBps: 25 }),
      buildCell({ beside: "compute", GBps: 49 }),
    ];
    expect(barsOf(named<BarChart>(chartsOf({ cells }), "h2d-beside"))).toEqual({
      pinned: [
        "alone: 50.0",
        "beside arithmetic: 49.0, 98.0 % of alone",
        "beside host memory: 25.0, 50.0 % of alone",
      ],
    });
    const back = [
      buildCell({ direction: "d2h", GBps: 40 }),
      buildCell({ direction: "d2h", beside: "host", GBps: 20 }),
    ];
    expect(barsOf(named<BarChart>(chartsOf({ cells: back }), "d2h-beside"))).toEqual({
      pinned: ["alone: 40.0", "beside host memory: 20.0, 50.0 % of alone"],
    });
  });

  it("are times of a batch with what chunks gain over one", () => {
    const sizeBytes = 100e6;
    const cells = [
      buildCell({ sizeBytes, GBps: 50 }),
      buildCell({ sizeBytes, chunks: 1, GBps: 25, result: { computeNs: 2e6 } }),
      buildCell({ sizeBytes, chunks: 4, GBps: 40, result: { computeNs: 2e6 } }),
      buildCell({ sizeBytes, memory: "pageable", GBps: 20 }),
      buildCell({ sizeBytes, memory: "pageable", chunks: 4, GBps: 10, result: { computeNs: 2e6 } }),
    ];
    const chart = named<BarChart>(chartsOf({ cells }), "h2d-pipeline");
    expect(barsOf(chart)).toEqual({
      pageable: ["copy alone: 5.00", "kernels alone: 2.00", "4 chunks: 10.0"],
      pinned: ["copy alone: 2.00", "kernels alone: 2.00", "1 chunk: 4.00", "4 chunks: 2.50, gain 1.60×"],
    });
    const [, , , four] = chart.groups.find(({ name }) => name === "pinned")!.bars;
    expect(four!.low!).toBeLessThan(four!.value);
    expect(four!.high!).toBeGreaterThan(four!.value);
    // A rate that may be 0 is a time without an end.
    const unsure = [buildCell({ sizeBytes, chunks: 4, GBps: 40, relativeHalfWidth: 1.5 })];
    const { groups } = named<BarChart>(chartsOf({ cells: unsure }), "h2d-pipeline");
    expect(groups[0]!.bars[0]).toMatchObject({ low: null, high: null });
  });
});
