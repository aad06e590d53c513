import { describe, expect, it } from "vitest";
import { answer, closingLines, findings } from "../../src/report/findings/answer.js";
import { equalWidth } from "../../src/report/findings/finding-evidence.js";
import { mainRates, preliminaryRates } from "../../src/report/findings/main-rates.js";
import {
  buildCell,
  buildColdStart,
  buildDevice,
  buildDocument,
  buildMismatch,
  buildSkipped,
  type CellPart,
  type DocumentPart,
  KiB,
  MiB,
  ofFiveProcesses,
} from "../helpers/result-document.js";
import { noLink, pair, textsOf, textsOfProcesses } from "./answer-texts.js";

/** Which cells an answer rests on: each of these results has others that would make it another answer. */
describe("the answer on copies is of", () => {
  const three = /^(On device 2, p|P)inned memory copies 3\.0 times as fast /;
  const devices = [2, 3].map((ordinal) => buildDevice({ ordinal, link: null, linkLimitGBps: null }));

  it.each<[string, CellPart, CellPart, DocumentPart?]>([
    ["the device with the lowest number", { device: 2 }, { device: 3 }, { devices }],
    ["the wall clock", { timer: "wall" }, { timer: "event" }],
    ["cold caches", { cache: "cold" }, { cache: "warm" }],
    ["threads", { workerKind: "thread" }, { workerKind: "process" }],
    ["the largest size", { sizeBytes: 2 * MiB }, { sizeBytes: MiB }],
    ["the fewest workers", { workers: 2 }, { workers: 4 }],
    ["plain copies", {}, { beside: "memory" }],
  ])("%s", (_, own, other, part = {}) => {
    for (const parts of [
      [own, other],
      [other, own],
    ]) {
      const cells = parts.flatMap((one) => pair(10, one === own ? 30 : 70, one));
      expect(textsOfProcesses(cells, { ...noLink, ...part })[0]).toMatch(three);
    }
  });

  it("warm caches by the wall clock, if only events timed cold ones", () => {
    const cells = [...pair(10, 30, { cache: "warm" }), ...pair(10, 70, { timer: "event" })];
    expect(textsOfProcesses(cells)[0]).toMatch(three);
  });

  it("cells that were finished", () => {
    const unfinished = pair(10, 70, { sizeBytes: 64 * MiB, result: { outcome: null } });
    expect(textsOfProcesses([...pair(10, 30), ...unfinished])[0]).toMatch(three);
  });
});

describe("the answer on copies", () => {
  it("has the costs of its own device's memory", () => {
    const devices = [2, 3].map((ordinal) => buildDevice({ ordinal, link: null, linkLimitGBps: null }));
    const [record] = buildColdStart().pinning;
    const costs = (device: number, copies: number) => {
      const payOff = { pinned: { h2d: copies, d2h: copies }, registered: { h2d: null, d2h: null } };
      return buildColdStart({ device, pinning: [{ ...record!, payOff }] });
    };
    const part = { devices, coldStart: [costs(3, 9), costs(2, 4)] };
    expect(textsOfProcesses(pair(10, 30, { device: 2 }), part)[0]).toContain("pays off after about 4 copies");
  });

  it("names up to three sizes that differ, and counts more", () => {
    const equal = (count: number) =>
      Array.from({ length: count }, (_, i) => pair(10, 10.01, { sizeBytes: (i + 1) * KiB })).flat();
    const exceptions = (count: number) =>
      textsOfProcesses([...pair(10, 30), ...equal(count)])[0]!
        .split("; ")
        .at(-1);
    expect(exceptions(3)).toBe("this is not so at 1 KiB, 2 KiB and 3 KiB.");
    expect(exceptions(4)).toBe("this is not so at 4 other sizes.");
  });

  it("of two kinds of memory in two directions is two sentences", () => {
    const cells = [
      buildCell({ GBps: 55 }),
      buildCell({ GBps: 50, direction: "d2h", memory: "registered" }),
      buildCell({ direction: "bidir", GBps: { h2d: 40, d2h: 40, sum: 80 } }),
    ];
    expect(textsOfProcesses(cells)).toEqual([
      expect.stringMatching(/^Pinned memory copies 55\.0 GB\/s to the device /),
      expect.stringMatching(/^Registered memory copies 50\.0 GB\/s from the device /),
    ]);
  });

  it("has no share of a link for both ways at once, and one sentence without any one way", () => {
    const cells = [
      buildCell({ direction: "bidir", GBps: { h2d: 20, d2h: 20, sum: 40 } }),
      buildCell({ direction: "d2d", memory: "device", GBps: 50 }),
    ];
    expect(textsOfProcesses(cells, {})).toEqual([
      "Pinned memory copies 40.0 GB/s both ways at once (39.8 to 40.2 in other runs; copies of 16 MiB by 1 worker).",
    ]);
  });

  it("gives each direction's share of the link its own range", () => {
    const cells = [...pair(10, 30), ...pair(10, 55, { direction: "d2h" })];
    expect(textsOfProcesses(cells, {})[1]).toBe(
      "Pinned memory reaches 47.6 % of what the link can carry to the device (47 % to 48 % in other runs), and 87.2 % back (86 % to 88 %).",
    );
  });

  describe("without rates", () => {
    const latency = (median: number, part: CellPart = {}) =>
      buildCell({
        mode: "latency",
        GBps: 1,
        latencyUs: { median, p99: 2 * median },
        sizeBytes: 4 * KiB,
        ...part,
      });

    it("has each direction's own times, of its quickest kind of memory", () => {
      const cells = [
        latency(6, { memory: "registered" }),
        latency(4, { memory: "write-combined" }),
        latency(9, { direction: "d2h", memory: "pageable" }),
        latency(5, { direction: "d2h" }),
      ];
      expect(textsOfProcesses(cells)).toEqual([
        "A copy of 4 KiB to the device takes 4.00 µs with write-combined memory (3.98 to 4.02 in other runs).",
        expect.stringMatching(
          /^A copy of 4 KiB from the device takes 5\.00 µs with pinned memory and 9\.00 µs with /,
        ),
      ]);
    });

    it("is repeated by no closing line if it compares both directions", () => {
      const both = (direction: "h2d" | "d2h") => [
        latency(4, { direction }),
        latency(8, { direction, memory: "pageable" }),
      ];
      const closing = (cells: ReturnType<typeof both>) =>
        closingLines(buildDocument({ cells: cells.map(ofFiveProcesses), ...noLink })).map(({ text }) => text);
      expect(closing([...both("h2d"), ...both("d2h")])).toEqual([]);
      expect(closing([...both("h2d"), latency(4, { direction: "d2h" })])).toEqual([
        "a copy of 4 KiB took 4.00 µs with pinned memory and 8.00 µs with pageable (H2D)",
      ]);
    });

    it("says that both kinds take as long only if they do", () => {
      const cells = [latency(4), latency(4, { memory: "pageable" })];
      expect(textsOfProcesses(cells)[0]).toBe(
        "A copy of 4 KiB to the device takes as long with pinned memory as with ordinary (pageable) memory: 4.00 µs (3.98 to 4.02 in other runs).",
      );
      const lines = findings(buildDocument({ cells: cells.map(ofFiveProcesses) }));
      expect(lines.map(({ text }) => text)).toEqual([
        "a copy of 4 KiB takes as long from pinned as from pageable memory (H2D)",
      ]);
    });
  });

  it("puts what is open down to the rates that were compared, all of which must have converged", () => {
    const open = pair(10, 11, { relativeHalfWidth: 0.2 });
    const varying = { outcome: "budget" } as const;
    const latency = { mode: "latency", GBps: 1, latencyUs: { median: 5, p99: 9 } } as const;
    const texts = (...more: CellPart[]) =>
      textsOfProcesses([
        ...open,
        ...more.map((part) => buildCell({ relativeHalfWidth: 0.2, ...part, result: varying })),
      ])[0];
    expect(texts(latency)).toContain("measure with --processes 5");
    expect(texts({ sizeBytes: MiB, GBps: 11 })).toContain("the figures vary too much");
  });
});

describe("a result without a conclusion", () => {
  it.each<[string, DocumentPart, string]>([
    [
      "latencies at once",
      {
        cells: [buildCell({ mode: "latency", GBps: 1, latencyUs: { median: 9, p99: 9 }, together: [0, 1] })],
      },
      "The tables show how long a copy takes; with --mode throughput this answer compares rates.",
    ],
    [
      "a run that goes on",
      { cells: [buildCell({ GBps: 50, result: { outcome: null } })], run: { status: "running" } },
      "There is no answer: the run has not ended before a cell was finished.",
    ],
  ])("says why: %s", (_, part, text) => {
    expect(textsOf(part)).toEqual([text]);
  });

  it("counts cells with wrong data among the causes, and failures only beside figures", () => {
    const cells = [buildMismatch({ sizeBytes: MiB }), buildSkipped({}, "no memory")];
    expect(textsOf({ cells }).at(-1)).toBe(
      "Nothing was measured: 1 cell came back wrong and 1 cell had to be skipped; the notes below the tables say why.",
    );
    const failed = buildCell({ result: { outcome: "failed" } });
    expect(textsOf({ cells: [failed] })).toHaveLength(1);
  });
});

describe("others on a device", () => {
  const busy = { computeShare: 0.4, toDeviceGBps: null, fromDeviceGBps: null };
  const record = (device: number, activityBefore: typeof busy | null) => ({
    ...{ device, others: [], activityBefore, unseen: [] },
  });

  it("are named for those devices only on which there were any", () => {
    const devices = [0, 1, 2].map((ordinal) => buildDevice({ ordinal, link: null, linkLimitGBps: null }));
    const cells = [0, 1, 2].flatMap((device) => pair(10, 30, { device }));
    const sharing = [record(0, null), record(1, busy), record(2, busy)];
    expect(textsOf({ cells, devices, run: { sharing } })[0]).toMatch(
      /^On device 0, with others on devices 1 and 2, pinned memory /,
    );
  });
});

it("a prefix that differs from the one before is printed again", () => {
  const devices = [0, 1].map((ordinal) => buildDevice({ ordinal, link: null, linkLimitGBps: null }));
  const cells = [
    ...[0, 1].flatMap((device) => pair(10, 30, { device })),
    ...[0, 1].map((device) => buildCell({ device, together: [0, 1], GBps: 29.9 })),
    ...[1, 4].map((chunks) => buildCell({ chunks, GBps: 20 + chunks })),
  ].map(ofFiveProcesses);
  const texts = answer(buildDocument({ cells, devices })).map(({ text }) =>
    text.replace(/^(On device 0, )?.*/, "$1"),
  );
  expect(texts).toEqual(["On device 0, ", "", "On device 0, "]);
});

describe("the main rates", () => {
  const briefOf = (part: DocumentPart) => mainRates(buildDocument(part))?.brief;

  it("are those of one worker at the largest size that has both kinds of memory", () => {
    const cells = [
      ...pair(9, 40, { workers: 2 }),
      ...pair(10, 30, { sizeBytes: MiB }),
      ...pair(10, 31, { sizeBytes: 2 * MiB }),
      buildCell({ sizeBytes: 64 * MiB, GBps: 55 }),
      ...pair(12, 32, { sizeBytes: 2 * MiB, direction: "d2h" }),
    ];
    expect(briefOf({ cells })).toBe("2 MiB H2D/D2H: pinned 31.0/32.0, pageable 10.0/12.0 GB/s");
    expect(mainRates(buildDocument({ cells }))?.text).toBe(
      "2 MiB: pinned 31.0 GB/s to the device, 32.0 back; pageable 10.0 and 12.0",
    );
  });

  it("have no gain over a rate of nothing", () => {
    expect(mainRates(buildDocument({ cells: pair(0, 30) }))?.headline.map(([name]) => name)).not.toContain(
      "pinned over pageable",
    );
  });

  it("are preliminary for a device, not for the host's own copies", () => {
    const host = buildCell({ device: -1, memory: "host", GBps: 12, result: { outcome: null } });
    const unfinished = pair(10, 30, { result: { outcome: null } });
    expect(preliminaryRates(buildDocument({ cells: [host, ...unfinished] }))?.brief).toBe(
      "preliminary: 16 MiB H2D: pinned 30.0, pageable 10.0 GB/s",
    );
  });
});

it("figures may count as equal with intervals as wide as the precision, within bounds", () => {
  const widthOf = (precision: number) => equalWidth(buildDocument({ plan: { precision } }));
  expect([0.01, 0.07, 0.5].map(widthOf)).toEqual([0.05, 0.07, 0.1]);
});

describe("closing lines", () => {
  const linesOf = (cells: ReturnType<typeof pair>) =>
    findings(buildDocument({ cells: cells.map(ofFiveProcesses) })).map(({ text }) => text);
  const sizes = (...gains: number[]) =>
    gains.flatMap((gain, i) => pair(10, gain, { sizeBytes: 2 ** i * MiB }));

  it.each<[string, number[], string]>([
    ["up to a size", [30, 30, 10.01], "3.1× pageable up to 2 MiB and it gains nothing at 4 MiB"],
    ["at some", [30, 10.01, 30, 10.01, 30], "pageable at 1 MiB, 4 MiB and 16 MiB and"],
    [
      "at many",
      [30, 10.01, 30, 10.01, 30, 10.01, 30, 10.01],
      "pageable at 4 of 8 sizes and it gains nothing at 4 of 8 sizes",
    ],
    ["slower at one of them", [30, 5], "pageable at 1 MiB and only 0.49× to 0.51× at 2 MiB"],
  ])("name the sizes: %s", (_, gains, text) => {
    expect(linesOf(sizes(...gains))[0]).toContain(text);
  });

  it("name the workers only if several were measured", () => {
    expect(linesOf(pair(10, 30, { workers: 2 }))[0]).not.toContain("worker");
    expect(linesOf([...pair(10, 30, { workers: 2 }), ...pair(10, 30, { workers: 4 })])[0]).toContain(
      ", with 2 workers",
    );
  });

  it("are of the largest size for staging, workers and other kinds", () => {
    const at = (sizeBytes: number, part: CellPart) => buildCell({ sizeBytes, ...part });
    const cells = [
      at(MiB, { memory: "pageable", GBps: 10 }),
      at(MiB, { memory: "pageable", workers: 4, GBps: 10 }),
      at(2 * MiB, { memory: "pageable", GBps: 10 }),
      at(2 * MiB, { memory: "pageable", workers: 4, GBps: 20 }),
      at(MiB, { GBps: 80 }),
      at(2 * MiB, { GBps: 55 }),
      at(MiB, { memory: "registered", GBps: 10 }),
      at(2 * MiB, { memory: "registered", GBps: 55 }),
    ];
    const lines = linesOf(cells);
    expect(lines).toContain("4 workers make pageable 1.98× to 2.1× as fast as 1 at 2 MiB (H2D)");
    expect(lines).toContain("registered is as fast as pinned at 2 MiB (H2D)");
    const staged = at(2 * MiB, { memory: "staged", GBps: 54.9 });
    expect(linesOf([...cells, staged])).toContain(
      "1 staging worker reaches the rate of pinned from pageable memory at 2 MiB (H2D)",
    );
  });

  it("compare both directions at once with each alone at the same size, by the same workers", () => {
    const cells = [
      buildCell({ direction: "bidir", workers: 2, GBps: { h2d: 50, d2h: 50, sum: 100 } }),
      ...(["h2d", "d2h"] as const).flatMap((direction) => [
        buildCell({ direction, sizeBytes: MiB, workers: 2, GBps: 20 }),
        buildCell({ direction, GBps: 20 }),
        buildCell({
          direction,
          workers: 2,
          GBps: 50,
          relativeHalfWidth: direction === "d2h" ? 0.001 : 0.004,
        }),
      ]),
    ];
    expect(linesOf(cells)).toContain(
      "both directions at once moved 100.0 GB/s, as much as H2D and D2H alone together (pinned, 16 MiB, 2 workers)",
    );
  });

  it("are three on plain copies at most, and name one device of several only if all are of it", () => {
    const cells = [
      ...pair(10, 30),
      ...pair(20, 40, { workers: 4 }),
      buildCell({ memory: "staged", GBps: 25 }),
      buildCell({ memory: "registered", GBps: 20 }),
      buildCell({ direction: "bidir", GBps: { h2d: 20, d2h: 20, sum: 40 } }),
      buildCell({ direction: "d2h", GBps: 30 }),
    ];
    expect(linesOf(cells)).toHaveLength(3);
  });

  it("have no line that the answer has, on whichever question", () => {
    const load = (beside: "memory" | "compute", GBps: number) => buildCell({ beside, GBps });
    const chunked = [1, 4].map((chunks) => buildCell({ chunks, GBps: 20 * chunks }));
    const cells = [buildCell({ GBps: 50 }), load("memory", 20), ...chunked].map(ofFiveProcesses);
    expect(closingLines(buildDocument({ cells, ...noLink }))).toEqual([]);
  });
});
