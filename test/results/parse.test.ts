import { describe, expect, it } from "vitest";
import { PinbenchError } from "../../src/errors.js";
import type { CellResult, CellSamples } from "../../src/results/cell-schema.js";
import { mostOthers, type OtherProgram } from "../../src/results/other-programs.js";
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

describe("parseResult", () => {
  it("gives back the document that was written", () => {
    const document = buildDocument({
      cells: [buildCell({ GBps: 55.4 }), buildCell({ workers: 2, GBps: 55 })],
    });
    expect(parseResult(JSON.stringify(document))).toEqual(document);
  });

  it("lets properties pass that it does not know", () => {
    const extended = { ...buildDocument(), comment: "from a later minor version" };
    expect(() => parseResult(JSON.stringify(extended))).not.toThrow();
  });

  it.each([
    ["an empty file", "", "old.json is empty."],
    ["text", "no json", "old.json is not JSON ("],
    ["a truncated file", JSON.stringify(buildDocument()).slice(0, 500), "old.json is not JSON ("],
    [
      "other JSON",
      '{"bandwidth": 3}',
      "old.json is JSON, but not a pinbench result: it has no schemaVersion.",
    ],
    ["an array", "[1]", "old.json is JSON, but not a pinbench result: it has no schemaVersion."],
    ["null", "null", "old.json is JSON, but not a pinbench result: it has no schemaVersion."],
    [
      "a later version",
      '{"schemaVersion": 2}',
      "old.json has schemaVersion 2, and this pinbench reads version 1.",
    ],
    [
      "an odd version",
      '{"schemaVersion": "x"}',
      'old.json has schemaVersion "x", and this pinbench reads version 1.',
    ],
  ])("says of %s what it is", (_, text, message) => {
    const failure = failureOf(text);
    expect(failure.message).toContain(message);
    expect(failure.kind).toBe("usage");
    expect(failure.message).not.toContain("\n");
    expect(failure.hint).not.toBeNull();
  });

  it("says what to do with a result of another version", () => {
    const hint = "Read it with the pinbench that wrote it, or measure again.";
    expect(failureOf('{"schemaVersion": 2}').hint).toBe(hint);
  });

  it.each<[string, Parameters<typeof buildDocument>[0]]>([
    ["cells[0].id", { cells: [{ ...buildCell({ GBps: 55 }), id: "d0/\u001b[31m" }] }],
    ["devices[0].name", { devices: [buildDevice({ name: "NVIDIA\nH200" })] }],
    ["fingerprint.kernel", { fingerprint: { kernel: "6.1\u009b" } }],
  ])("takes control characters in %s for what they are: figures are not lost for a name", (_, part) => {
    const document = buildDocument(part);
    expect(parseResult(JSON.stringify(document))).toEqual(JSON.parse(JSON.stringify(document)));
  });

  it.each([
    ["activityBefore.toDeviceGBps", { activityBefore: { ...idle, toDeviceGBps: 1e13 } }],
    ["activityBefore.fromDeviceGBps", { activityBefore: { ...idle, fromDeviceGBps: 1e308 } }],
    ["others", { others: Array.from({ length: mostOthers + 1 }, () => other) }],
    ["others[0].deviceMemoryBytes", { others: [{ ...other, deviceMemoryBytes: 2 ** 60 }] }],
  ])("refuses what no pinbench writes of who shared a device, in %s", (path, part) => {
    const alone = { device: 0, others: [], activityBefore: null, unseen: [] };
    const document = buildDocument({ run: { sharing: [{ ...alone, ...part }] } });
    const { message } = failureOf(JSON.stringify(document));
    expect(message).toContain(`not a valid pinbench result at run.sharing[0].${path}: `);
  });

  it("names the first path that is wrong", () => {
    const document = buildDocument({
      cells: [buildCell({ GBps: 55.4 }), buildCell({ workers: 2, GBps: 55 })],
    });
    const durations: unknown[] = document.cells[1]?.samples[0]?.durationNs ?? [];
    durations[1] = "fast";
    expect(failureOf(JSON.stringify(document)).message).toMatch(
      /^old\.json is not a valid pinbench result at cells\[1\]\.samples\[0\]\.durationNs\[1\]: .*number/,
    );
  });

  it("rejects negative durations, a cell that is there twice, and columns of unequal length", () => {
    const negative = buildCell({ GBps: 1 });
    negative.samples[0]?.durationNs.splice(0, 1, -5);
    expect(failureOf(JSON.stringify(buildDocument({ cells: [negative] }))).message).toContain(
      "durationNs[0]: it is not a number above 0",
    );
    for (const [column, value, fault] of [
      ["durationNs", [0, 1], "durationNs[0]: it is not a number above 0"],
      ["startNs", [0, -1], "startNs[1]: it is not a number from 0 up"],
      ["round", [-1, 0], "round[0]: it is not a whole number from 0 up"],
      ["round", "0", "round: it is not a list of numbers"],
    ] as const) {
      const cell = buildCell({ GBps: 1 });
      Object.assign(cell.samples[0]!, { [column]: value });
      expect(failureOf(JSON.stringify(buildDocument({ cells: [cell] }))).message).toContain(fault);
    }

    const twice = buildDocument({ cells: [buildCell({ GBps: 1 }), buildCell({ GBps: 2 })] });
    expect(failureOf(JSON.stringify(twice)).message).toContain("has the cell d0/h2d/pinned/16777216/w1");

    for (const column of ["startNs", "round"] as const) {
      const ragged = buildCell({ GBps: 1 });
      ragged.samples[0]?.[column].pop();
      expect(failureOf(JSON.stringify(buildDocument({ cells: [ragged] }))).message).toContain(
        "unequal columns",
      );
    }
  });

  describe("a finished cell has figures of its samples", () => {
    const of = (part: CellPart, change: (cell: CellResult) => void = () => undefined) => {
      const cell = buildCell(part);
      change(cell);
      return JSON.stringify(buildDocument({ cells: [cell] }));
    };

    it.each([
      ["without any samples", of({}), "has no samples of"],
      ["whose budget ended, too", of({ result: { outcome: "budget" } }), "has no samples of"],
      [
        "with empty columns",
        of({ GBps: 1 }, ({ samples: [one] }) =>
          Object.assign(one!, { startNs: [], durationNs: [], round: [] }),
        ),
        "has no samples of",
      ],
      ["without figures", of({ GBps: 1, result: { stats: [] } }), "has samples but no figures of"],
      [
        "with a direction that has none",
        of({ direction: "bidir", GBps: { h2d: 1, d2h: 1, sum: 2 } }, ({ samples }) => samples.pop()),
        "has d2h figures without samples in",
      ],
      ["of 0 GB/s", of({ GBps: 1 }, (cell) => setMedian(cell, 0)), "has h2d figures that are not above 0 in"],
      ["below 0", of({ GBps: 1 }, (cell) => setMedian(cell, -5)), "has h2d figures that are not above 0 in"],
      ["near 0", of({ GBps: 1 }, (cell) => setMedian(cell, 1e-10)), "has h2d figures that no machine has in"],
      ...[0.5, 2].map((median) => [
        `whose median of ${median} is not between 0.996 and 1.004`,
        of({ GBps: 1 }, (cell) => setMedian(cell, median)),
        "has h2d figures outside of their own interval in",
      ]),
      [
        "whose latency is 0",
        of({ mode: "latency", GBps: 1, latencyUs: { median: 0, p99: 1 } }),
        "has h2d figures that are not above 0 in",
      ],
      [
        "with a load that did less than nothing",
        of({ beside: "host", GBps: 1, result: { load: { ...loadOf(0.5)!, during: loadOf(-0.1)!.during } } }),
        "has figures of the load below 0 in",
      ],
      [
        "with a load that did nothing alone",
        of({ beside: "host", GBps: 1, result: { load: { ...loadOf(0.5)!, alone: loadOf(0)!.during } } }),
        "has figures of the load that are not above 0 in",
      ],
      [
        "with a load that kept less than nothing",
        of({
          beside: "host",
          GBps: 1,
          result: { load: { ...loadOf(0.5)!, keptShare: loadOf(-0.1)!.keptShare } },
        }),
        "has figures of the load below 0 in",
      ],
    ])("one %s is rejected", (_, text, message) => {
      expect(failureOf(text).message).toMatch(new RegExp(`^old\\.json ${message} the cell d0/`));
    });

    it.each([
      [
        "a link of 50 million GB/s",
        of({ GBps: 5e7 }),
        "50200000 GB/s in the cell $: no link carries more than 2 TB/s",
      ],
      [
        "another device's link, the other way",
        of({ device: 1, direction: "d2h", GBps: 2000 }),
        "2010 GB/s in the cell $: no link carries more than 2 TB/s",
      ],
      [
        "both ways of a link together",
        of({ direction: "bidir", GBps: { h2d: 1900, d2h: 1900, sum: 4100 } }),
        "4120 GB/s in the cell $: no link carries more than 4 TB/s",
      ],
      [
        "a process of several",
        of({ GBps: 50 }, ({ stats }) =>
          Object.assign(stats[0]!.bandwidthGBps, { processMedians: [50, 5e7] }),
        ),
        "50000000 GB/s in the cell $: no link carries",
      ],
      [
        "the CPU's own copies",
        of({ memory: "host", GBps: 2e5 }),
        "201000 GB/s in the cell $: no memory carries more than 100 TB/s",
      ],
      [
        "a copy of half a nanosecond",
        of({ mode: "latency", GBps: 1, latencyUs: { median: 0.0005, p99: 1 } }),
        "0.000498 µs in the cell $: no copy takes less than 1 ns",
      ],
    ])("what no machine does is refused as data, with what to do: %s", (_, text, message) => {
      const failure = failureOf(text);
      const id = /d\d\/[^:]*/.exec(failure.message)?.[0] ?? "";
      expect(failure.message).toBe(
        `old.json has ${message.replace("$", id).replace(/carries$/, "carries more than 2 TB/s")}.`,
      );
      expect(failure).toMatchObject({
        kind: "usage",
        hint: "Measure again, and leave this run out: its file was edited, or its clock jumped.",
      });
    });

    it.each([
      ["a link as fast as any", of({ GBps: 1900 })],
      ["copies in a CPU's caches", of({ memory: "host", GBps: 9e4 })],
      [
        "an emulated device, which has none",
        JSON.stringify(buildEmulatedDocument({ cells: [buildCell({ GBps: 9e4 })] })),
      ],
      [
        "a sum, which has no samples of its own",
        of({ direction: "bidir", GBps: { h2d: 1, d2h: 1, sum: 2 } }),
      ],
      ["one sample, as imported results have", of({ GBps: 1 }, ({ samples: [one] }) => keepOne(one!))],
      [
        "none where it was skipped",
        JSON.stringify(buildDocument({ cells: [buildSkipped({}, "no kernels")] })),
      ],
      ["none where its run was interrupted", of({ result: { outcome: null } })],
      [
        "a load that a busy machine left nothing",
        of({ beside: "host", GBps: 1, result: { load: loadOf(0) } }),
      ],
    ])("%s will do", (_, text) => {
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
