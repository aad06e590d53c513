import { describe, expect, it } from "vitest";
import { PinbenchError } from "../../src/errors.js";
import { mostOthers, type OtherProgram } from "../../src/host/other-programs.js";
import type { CellResult, CellSamples } from "../../src/results/cell-schema.js";
import { parseResult } from "../../src/results/parse.js";
import {
  buildCell,
  buildDevice,
  buildDistribution,
  buildDocument,
  buildEmulatedDocument,
  buildSkipped,
  type CellPart,
} from "../helpers/result-document.js";

function failureOf(text: string): PinbenchError {
  try {
    parseResult(text, "old.json");
  } catch (error) {
    if (error instanceof PinbenchError) {
      return error;
    }
    throw error;
  }
  throw new Error("it was accepted");
}

/** A load that kept this share of its speed. */
const loadOf = (keptShare: number): CellResult["load"] => ({
  unit: "GB/s",
  alone: buildDistribution(10, 0.1),
  during: buildDistribution(10 * keptShare, 0.1),
  keptShare: buildDistribution(keptShare, 0.1),
});

const idle = { computeShare: 0, toDeviceGBps: 0, fromDeviceGBps: 0 };
const other: OtherProgram = {
  kind: "program",
  pid: 4711,
  name: "python3",
  since: null,
  deviceMemoryBytes: null,
  wasThereBefore: true,
};

describe("reading a result", () => {
  it("gives back the document that was written", () => {
    const document = buildDocument({
      cells: [buildCell({ GBps: 55.4 }), buildCell({ workers: 2, GBps: 55 })],
    });
    expect(parseResult(JSON.stringify(document))).toEqual(document);
  });

  it("accepts unknown properties", () => {
    const extended = { ...buildDocument(), comment: "from a later minor version" };
    expect(() => parseResult(JSON.stringify(extended))).not.toThrow();
  });

  const noResults: [what: string, text: string][] = [
    ["an empty file", ""],
    ["text", "no json"],
    ["a truncated file", JSON.stringify(buildDocument()).slice(0, 500)],
    ["other JSON", '{"bandwidth": 3}'],
    ["an array", "[1]"],
    ["null", "null"],
    ["a later version", '{"schemaVersion": 2}'],
    ["an odd version", '{"schemaVersion": "x"}'],
  ];

  it("reports why a file is no result, and what to do", async () => {
    const texts = noResults.map(([what, text]) => {
      const { kind, message, hint } = failureOf(text);
      return `${what} (${kind}): ${message.replace(/JSON \(.*\)/, "JSON")}\n  ${hint}\n`;
    });
    await expect(texts.join("")).toMatchFileSnapshot("snapshots/no-results.txt");
  });

  it.each<[string, Parameters<typeof buildDocument>[0]]>([
    ["cells[0].id", { cells: [{ ...buildCell({ GBps: 55 }), id: "d0/\u001b[31m" }] }],
    ["devices[0].name", { devices: [buildDevice({ name: "NVIDIA\nH200" })] }],
    ["fingerprint.kernel", { fingerprint: { kernel: "6.1\u009b" } }],
  ])("accepts control characters in %s", (_, part) => {
    const document = buildDocument(part);
    expect(parseResult(JSON.stringify(document))).toEqual(JSON.parse(JSON.stringify(document)));
  });

  describe("with finished cells", () => {
    const of = (part: CellPart, change: (cell: CellResult) => void = () => undefined) => {
      const cell = buildCell(part);
      change(cell);
      return JSON.stringify(buildDocument({ cells: [cell] }));
    };

    const columns: [column: string, value: unknown][] = [
      ...([
        ["durationNs", [0, 1]],
        ["durationNs", [5, "fast"]],
      ] as [string, unknown][]),
      ...([
        ["startNs", [0, -1]],
        ["startNs", [1]],
      ] as [string, unknown][]),
      ...([
        ["round", [-1, 0]],
        ["round", "0"],
        ["round", [0]],
      ] as [string, unknown][]),
    ];
    const sharing = (part: object) =>
      JSON.stringify(
        buildDocument({
          run: { sharing: [{ device: 0, others: [], activityBefore: null, unseen: [], ...part }] },
        }),
      );
    const others = Array.from({ length: mostOthers + 1 }, () => other);

    const wrong: (readonly [what: string, text: string])[] = [
      ...columns.map(
        ([column, value]) =>
          [
            `whose ${column} is ${JSON.stringify(value)}`,
            of({ GBps: 1 }, ({ samples }) => Object.assign(samples[0]!, { [column]: value })),
          ] as const,
      ),
      [
        "that is there twice",
        JSON.stringify(buildDocument({ cells: [buildCell({ GBps: 1 }), buildCell({ GBps: 2 })] })),
      ],
      ["beside too much activity", sharing({ activityBefore: { ...idle, toDeviceGBps: 1e13 } })],
      ["beside too much of the other way", sharing({ activityBefore: { ...idle, fromDeviceGBps: 1e308 } })],
      ["beside too many programs", sharing({ others })],
      [
        "beside a program with too much memory",
        sharing({ others: [{ ...other, deviceMemoryBytes: 2 ** 60 }] }),
      ],
      ["without any samples", of({})],
      ["whose budget ended, too", of({ result: { outcome: "budget" } })],
      [
        "with empty columns",
        of({ GBps: 1 }, ({ samples: [one] }) =>
          Object.assign(one!, { startNs: [], durationNs: [], round: [] }),
        ),
      ],
      ["without figures", of({ GBps: 1, result: { stats: [] } })],
      [
        "with a direction that has none",
        of({ direction: "bidir", GBps: { h2d: 1, d2h: 1, sum: 2 } }, ({ samples }) => samples.pop()),
      ],
      ["of 0 GB/s", of({ GBps: 1 }, (cell) => setMedian(cell, 0))],
      ["below 0", of({ GBps: 1 }, (cell) => setMedian(cell, -5))],
      ["near 0", of({ GBps: 1 }, (cell) => setMedian(cell, 1e-10))],
      ...[0.5, 2].map(
        (median) =>
          [`with a median of ${median}`, of({ GBps: 1 }, (cell) => setMedian(cell, median))] as const,
      ),
      ["whose latency is 0", of({ mode: "latency", GBps: 1, latencyUs: { median: 0, p99: 1 } })],
      [
        "with a load that did less than nothing",
        of({ beside: "host", GBps: 1, result: { load: { ...loadOf(0.5)!, during: loadOf(-0.1)!.during } } }),
      ],
      [
        "with a load that did nothing alone",
        of({ beside: "host", GBps: 1, result: { load: { ...loadOf(0.5)!, alone: loadOf(0)!.during } } }),
      ],
      [
        "with a load that kept less than nothing",
        of({
          beside: "host",
          GBps: 1,
          result: { load: { ...loadOf(0.5)!, keptShare: loadOf(-0.1)!.keptShare } },
        }),
      ],
      ["a link of 50 million GB/s", of({ GBps: 5e7 })],
      ["another device's link, the other way", of({ device: 1, direction: "d2h", GBps: 2000 })],
      ["both ways of a link together", of({ direction: "bidir", GBps: { h2d: 1900, d2h: 1900, sum: 4100 } })],
      [
        "a process of several",
        of({ GBps: 50 }, ({ stats }) =>
          Object.assign(stats[0]!.bandwidthGBps, { processMedians: [50, 5e7] }),
        ),
      ],
      ["the CPU's own copies", of({ memory: "host", GBps: 2e5 })],
      [
        "a copy of half a nanosecond",
        of({ mode: "latency", GBps: 1, latencyUs: { median: 0.0005, p99: 1 } }),
      ],
    ];

    it("refuses cells without figures, or with impossible ones", async () => {
      const texts = wrong.map(([what, text]) => {
        const { kind, message, hint } = failureOf(text);
        return `${what} (${kind}): ${message}\n  ${hint}\n`;
      });
      await expect(texts.join("")).toMatchFileSnapshot("snapshots/wrong-figures.txt");
    });

    it.each([
      ["a link with 1900 GB/s", of({ GBps: 1900 })],
      ["copies of 90 TB/s in a CPU's caches", of({ memory: "host", GBps: 9e4 })],
      [
        "any rate of an emulated device, which has no link",
        JSON.stringify(buildEmulatedDocument({ cells: [buildCell({ GBps: 9e4 })] })),
      ],
      [
        "a sum, which has no samples of its own",
        of({ direction: "bidir", GBps: { h2d: 1, d2h: 1, sum: 2 } }),
      ],
      ["one sample, as imported results have", of({ GBps: 1 }, ({ samples: [one] }) => keepOne(one!))],
      [
        "no figures of a skipped cell",
        JSON.stringify(buildDocument({ cells: [buildSkipped({}, "no kernels")] })),
      ],
      ["no figures of an unfinished cell", of({ result: { outcome: null } })],
      ["a load that kept 0 % of its speed", of({ beside: "host", GBps: 1, result: { load: loadOf(0) } })],
    ])("accepts %s", (_, text) => {
      expect(() => parseResult(text)).not.toThrow();
    });
  });
});

function setMedian({ stats }: CellResult, median: number): void {
  stats[0]!.bandwidthGBps.median = median;
}

function keepOne(samples: CellSamples): void {
  for (const column of [samples.startNs, samples.durationNs, samples.round]) column.length = 1;
}
