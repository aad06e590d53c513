import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { jsonReport } from "../../src/draw/json.js";
import { fileScreen } from "../../src/draw/screen.js";
import { resultKind } from "../../src/report/result-report.js";
import { emulatedNotice } from "../../src/results/device-facts.js";
import { parseResult } from "../../src/results/parse.js";
import { drawn, reportOf, textFormats } from "../helpers/drawn.js";
import {
  buildCell,
  buildColdStart,
  buildDevice,
  buildDistribution,
  buildDocument,
  buildEmulatedDocument,
  buildFailed,
  buildMismatch,
  buildSkipped,
  ofFiveProcesses,
  sweepCells,
} from "../helpers/result-document.js";

const sweep = buildDocument({ cells: sweepCells(), coldStart: [buildColdStart()] });

describe("a result as JSON", () => {
  it("is the document itself, valid, and ends in a line break", () => {
    const text = jsonReport(sweep);
    expect(parseResult(text)).toEqual(sweep);
    expect(text).toMatch(/^\{\n {2}"schemaVersion": 1,\n.*\n\}\n$/s);
  });

  it("keeps a column of samples on one line", () => {
    expect(jsonReport(sweep)).toMatch(/^ +"round": \[0,1\],?$/m);
  });

  it("agrees with JSON.stringify on every kind of value", () => {
    const value = {
      a: [],
      b: {},
      c: [{}, [1, [2]]],
      d: 'quote " and \n',
      e: null,
      f: [null, true],
      g: undefined,
      h: 1e-7,
    };
    expect(JSON.parse(jsonReport(value))).toEqual(JSON.parse(JSON.stringify(value)));
  });
});

/** A reader of RFC 4180 that shares no code with the writer. */
function parseCsv(text: string): Record<string, string>[] {
  const rows: string[][] = [[""]];
  let quoted = false;
  for (let at = 0; at < text.length; ++at) {
    const row = rows.at(-1)!;
    const character = text[at]!;
    if (quoted && character === '"' && text[at + 1] === '"') {
      row[row.length - 1] += '"';
      ++at;
    } else if (character === '"') {
      quoted = !quoted;
    } else if (!quoted && character === ",") {
      row.push("");
    } else if (!quoted && character === "\n") {
      rows.push([""]);
    } else {
      row[row.length - 1] += character;
    }
  }
  const [head = [], ...body] = rows.slice(0, -1);
  return body.map((row) => {
    expect(row).toHaveLength(head.length);
    return Object.fromEntries(head.map((name, column) => [name, row[column] ?? ""]));
  });
}

const load = {
  unit: "GB/s" as const,
  alone: buildDistribution(2000),
  during: buildDistribution(1500),
  keptShare: { ...buildDistribution(0.75), low: 0.7, high: 0.8 },
};
const latency = { mode: "latency", latencyUs: { median: 4, p99: 8 } } as const;
const reason = 'of two parts, one "quoted", one not';
/** A cell of each kind, with figures of its own. */
const ofAllKinds = [
  ofFiveProcesses(buildCell({ GBps: 55.4 })),
  buildCell({ direction: "bidir", GBps: { h2d: 52.333333333, d2h: 50.1, sum: 102.43 } }),
  buildCell({ GBps: 51, workers: 2, ...latency, result: { copiesPerSample: 7, warnings: ["hot", "slow"] } }),
  buildCell({ GBps: 49, workerKind: "process", together: [0, 1] }),
  buildCell({ GBps: 390, direction: "p2p", memory: "device", peer: 1, path: "write" }),
  buildCell({ GBps: 53, beside: "memory", relativeHalfWidth: 0.03, result: { load } }),
  buildCell({ GBps: 48, chunks: 4, result: { computeNs: 3.3e6 } }),
  buildSkipped({ memory: "mapped" }, reason),
  buildFailed({ workers: 4 }, "CODE", "out of memory"),
];

describe("a result as CSV", () => {
  it("has a row for each figure, unrounded, and one for a cell without figures", async () => {
    const rows = parseCsv(drawn(resultKind, buildDocument({ cells: ofAllKinds }), "csv"));
    // A line for each field that is not empty.
    const texts = rows.map((row) =>
      Object.entries(row)
        .flatMap(([name, value]) => (value === "" ? [] : [`${name}: ${value}`]))
        .join("\n"),
    );
    await expect(`${texts.join("\n\n")}\n`).toMatchFileSnapshot("situations/csv.txt");
  });

  it("has only columns that docs/reference.md explains", () => {
    const reference = readFileSync(new URL("../../docs/reference.md", import.meta.url), "utf8");
    const [row] = parseCsv(drawn(resultKind, buildDocument({ cells: ofAllKinds }), "csv"));
    const isExplained = (name: string) => new RegExp(`^\\| .*\`${name}\`.* \\| \\S`, "m").test(reference);
    expect(Object.keys(row!).filter((name) => !isExplained(name))).toEqual([]);
  });

  it("says in each row that the device is emulated", () => {
    const rows = parseCsv(drawn(resultKind, buildEmulatedDocument({ cells: sweepCells() }), "csv"));
    expect(rows.filter(({ figure }) => figure === "rate")).toHaveLength(90);
    expect(new Set(rows.map(({ backend }) => backend))).toEqual(new Set(["emulated"]));
  });

  it.each(["=HYPERLINK(1)", "+1", "-1", "@SUM(1)"])("has an apostrophe before a formula: %s", (name) => {
    const document = buildDocument({ devices: [buildDevice({ name })], cells: [buildCell({ GBps: 55 })] });
    expect(drawn(resultKind, document, "csv")).toContain(`,'${name},`);
  });
});

/** Device numbers differ from positions in the list. */
describe("a result of the devices 1 and 3", () => {
  const devices = [
    buildDevice({ ordinal: 1, name: "GPU B", linkLimitGBps: 63 }),
    buildDevice({ ordinal: 3, name: "GPU D", linkLimitGBps: 110 }),
  ];
  const document = buildDocument({
    devices,
    run: { finishedAt: "2026-11-20T11:07:00.000Z" },
    cells: [3, 1].flatMap((device) => [
      buildCell({ device, memory: "pageable", GBps: 12 }),
      buildCell({ device, GBps: 55 }),
      buildCell({ device, direction: "bidir", GBps: { h2d: 40, d2h: 40, sum: 80 } }),
    ]),
  });

  it("is named after both devices and its start time", () => {
    expect(reportOf(resultKind, document).name).toBe("Copy speed: GPU B, GPU D, 2026-11-20 10:00 UTC");
  });

  it("has each cell's own device in CSV", () => {
    const named = parseCsv(drawn(resultKind, document, "csv")).map(
      (row) => `${row.device} ${row.device_name}`,
    );
    expect([...new Set(named)]).toEqual(["3 GPU D", "1 GPU B"]);
  });

  it("compares rates with the link of their own device", () => {
    const text = drawn(resultKind, document, "markdown");
    // 80 GB/s against twice 110 and twice 63.
    for (const share of ["36.3 %", "63.4 %"]) expect(text).toContain(share);
  });
});

describe("a result as Markdown", () => {
  const text = drawn(resultKind, sweep, "markdown");

  it("has equally many columns in every row of a table", () => {
    const tables = text.split("\n\n").filter((block) => block.startsWith("|"));
    expect(tables).toHaveLength(4);
    for (const table of tables) {
      expect(new Set(table.split("\n").map((row) => row.split("|").length)).size).toBe(1);
    }
  });

  it("escapes markup in texts, and reports wrong data in capitals", () => {
    const cells = [buildMismatch(), buildSkipped({ memory: "mapped" }, "a | b <c>")];
    const broken = drawn(resultKind, buildDocument({ cells }), "markdown");
    expect(broken).toContain("a \\| b \\<c\\>");
    expect(broken).toContain("\n- \\- skipped: a");
    expect(broken).toContain("**MISMATCH**");
    expect(broken.match(/DATA CAME BACK WRONG/g)).toHaveLength(1);
  });
});

describe("each format of a result", () => {
  it("is reproducible, and reports that the device is emulated", () => {
    const screen = fileScreen();
    const document = buildEmulatedDocument();
    for (const format of textFormats("result")) {
      const text = drawn(resultKind, document, format, screen);
      expect(text).toBe(drawn(resultKind, document, format, screen));
      expect(text).toContain(format === "csv" ? ",emulated," : emulatedNotice);
    }
  });
});
