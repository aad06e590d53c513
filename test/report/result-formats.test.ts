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
  defaultSweepCells,
  ofFiveProcesses,
} from "../helpers/result-document.js";

const sweep = buildDocument({ cells: defaultSweepCells(), coldStart: [buildColdStart()] });

describe("JSON", () => {
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

/** A reader of RFC 4180, on its own feet. */
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

describe("CSV", () => {
  it("has a row for each cell and direction, numbers unrounded", () => {
    const bidir = buildCell({ direction: "bidir", GBps: { h2d: 52.333333333, d2h: 50.1, sum: 102.43 } });
    const rows = parseCsv(
      drawn(resultKind, buildDocument({ cells: [buildCell({ GBps: 55.4 }), bidir] }), "csv"),
    );
    expect(rows.map(({ direction, moved }) => [direction, moved])).toEqual([
      ["h2d", "h2d"],
      ["bidir", "h2d"],
      ["bidir", "d2h"],
      ["bidir", "sum"],
    ]);
    expect(rows[1]).toMatchObject({
      id: bidir.id,
      backend: "cuda",
      notice: "",
      size_bytes: "16777216",
      bandwidth_gbps_median: "52.333333333",
      latency_us_median: "",
      outcome: "converged",
    });
    const small = buildCell({ mode: "latency", GBps: 2, latencyUs: { median: 4, p99: 8 } });
    expect(parseCsv(drawn(resultKind, buildDocument({ cells: [small] }), "csv"))).toMatchObject([
      { latency_us_median: "4", latency_us_p90: "6", latency_us_p99: "8" },
    ]);
  });

  it("has each of a cell's figures in its own column", () => {
    const whole = buildCell({ GBps: 55, workers: 2, latencyUs: { median: 4, p99: 8 }, mode: "latency" });
    const [stats] = whole.stats;
    const figures = { median: 50, low: 49, high: 52, min: 40, max: 60 };
    const cell = {
      ...whole,
      ...{ copiesPerSample: 7, warnings: ["hot", "slow"] },
      stats: [{ ...stats!, samples: 31, bandwidthGBps: figures, relativeHalfWidth: 0.03, linkShare: 0.8 }],
      load: {
        unit: "GB/s" as const,
        alone: buildDistribution(2000),
        during: buildDistribution(1500),
        keptShare: { ...buildDistribution(0.75), low: 0.7, high: 0.8 },
      },
    };
    const [row] = parseCsv(drawn(resultKind, buildDocument({ cells: [cell] }), "csv"));
    expect(row).toMatchObject({
      ...{ workers: "2", samples: "31", copies_per_sample: "7", warnings: "hot; slow" },
      ...{ bandwidth_gbps_median: "50", bandwidth_gbps_low: "49", bandwidth_gbps_high: "52" },
      ...{ bandwidth_gbps_min: "40", bandwidth_gbps_max: "60" },
      ...{ relative_half_width: "0.03", link_share: "0.8" },
      ...{ latency_us_min: "3.6", latency_us_max: "4.4" },
      ...{ load_kept_share_low: "0.7", load_kept_share_high: "0.8" },
      ...{ run_id: "01JD3Z6H7R9Q", started_at: "2026-11-20T10:00:00.000Z", host: "node-1" },
    });
  });

  it("has in each row the number of processes whose figures it has", () => {
    const cells = [ofFiveProcesses(buildCell({ GBps: 55 })), buildCell({ workers: 2, GBps: 55 })];
    const rows = parseCsv(drawn(resultKind, buildDocument({ cells }), "csv"));
    expect(rows.map(({ processes }) => processes)).toEqual(["5", "1"]);
  });

  it("says in each row that the device is emulated", () => {
    const rows = parseCsv(drawn(resultKind, buildEmulatedDocument({ cells: defaultSweepCells() }), "csv"));
    expect(rows).toHaveLength(90);
    expect(new Set(rows.map(({ backend, notice }) => `${backend}: ${notice}`))).toEqual(
      new Set([`emulated: ${emulatedNotice}`]),
    );
  });

  it("has columns for what sets a cell apart from a plain one, and for the load beside it", () => {
    const load = {
      unit: "GB/s" as const,
      alone: buildDistribution(2000),
      during: buildDistribution(1500),
      keptShare: buildDistribution(0.75, 0.1),
    };
    const cells = [
      buildCell({ GBps: 55, workerKind: "process", together: [0, 1] }),
      buildCell({ GBps: 390, direction: "p2p", memory: "device", peer: 1, path: "write" }),
      buildCell({ GBps: 53, beside: "memory", result: { load } }),
      buildCell({ GBps: 50, chunks: 4, result: { computeNs: 3.3e6 } }),
      buildCell({ GBps: 55 }),
    ];
    const rows = parseCsv(drawn(resultKind, buildDocument({ cells }), "csv"));
    const named = ["worker_kind", "together", "peer", "path", "beside", "chunks"];
    expect(rows.map((row) => named.map((name) => row[name]).join("|"))).toEqual([
      "process|0 1||||",
      "thread||1|write||",
      "thread||||memory|",
      "thread|||||4",
      "thread|||||",
    ]);
    expect(rows[2]).toMatchObject({
      load_unit: "GB/s",
      load_alone_median: "2000",
      load_during_median: "1500",
      load_kept_share_median: "0.75",
      load_kept_share_low: "0.675",
    });
    expect(rows.map((row) => row.compute_ns)).toEqual(["", "", "", "3300000", ""]);
    // Behind those of plain cells, whose places readers may count.
    const names = Object.keys(rows[0]!);
    expect(names.slice(names.indexOf("warnings") + 1, names.indexOf("load_unit"))).toEqual(named);
  });

  it("has a row for what was not measured, and quotes what needs it", () => {
    const reason = 'of two parts, one "quoted", one not';
    const cells = [buildSkipped({}, reason), buildFailed({ workers: 2 }, "CODE", "out of memory")];
    const rows = parseCsv(drawn(resultKind, buildDocument({ cells }), "csv"));
    expect(rows[0]).toMatchObject({
      outcome: "skipped",
      skip_reason: reason,
      bandwidth_gbps_median: "",
      moved: "",
    });
    expect(rows[1]).toMatchObject({ outcome: "failed", error: "out of memory" });
  });
});

describe("a hostile name in CSV", () => {
  it.each(["=HYPERLINK(1)", "+1", "-1", "@SUM(1)"])("is no formula: %s", (name) => {
    const document = buildDocument({ devices: [buildDevice({ name })], cells: [buildCell({ GBps: 55 })] });
    expect(drawn(resultKind, document, "csv")).toContain(`,'${name},`);
  });
});

/** The numbers of devices are not their places in the list. */
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

  it("is called after all of them, and when it began", () => {
    expect(reportOf(resultKind, document).name).toBe("GPU B, GPU D, 2026-11-20 10:00 UTC");
  });

  it("has each cell's own device in CSV", () => {
    const named = parseCsv(drawn(resultKind, document, "csv")).map(
      (row) => `${row.device} ${row.device_name}`,
    );
    expect([...new Set(named)]).toEqual(["3 GPU D", "1 GPU B"]);
  });

  it("holds rates against their own device's link", () => {
    const text = drawn(resultKind, document, "markdown");
    // 80 GB/s against twice 110 and twice 63, and the answer on device 1.
    for (const share of ["36.3 %", "63.4 %", "87.3 % of what the link can carry"])
      expect(text).toContain(share);
  });
});

describe("Markdown", () => {
  const text = drawn(resultKind, sweep, "markdown");

  it("has the findings first, a table for each direction, the cold start, and the environment last", () => {
    expect(text).toContain("- **Device:** NVIDIA H200");
    expect(text).toContain(
      "## Host to device (H2D), GB/s\n\n| size | workers | pageable | staged | pinned |",
    );
    expect(text).toContain("| 64 KiB | 1 | 9.65 ±13 % | 6.74 | 17.7 | 1.84× | 28.2 % |");
    expect(text).toContain("| pinned/pageable | pinned/link |\n");
    expect(text).toContain("## Cold start: paid once, part of no figure above");
    expect(text.search(/\n\n- pinned is/)).toBeLessThan(text.indexOf("\n| size |"));
    expect(text.lastIndexOf("\n|")).toBeLessThan(text.indexOf("\n- **Device:**"));
  });

  it("has equally many columns in every row of a table", () => {
    const tables = text.split("\n\n").filter((block) => block.startsWith("|"));
    expect(tables).toHaveLength(3);
    for (const table of tables) {
      expect(new Set(table.split("\n").map((row) => row.split("|").length)).size).toBe(1);
    }
  });

  it("says first that figures are an emulated device's", () => {
    expect(drawn(resultKind, buildEmulatedDocument(), "markdown").split("\n")[2]).toBe(
      `> **${emulatedNotice}**`,
    );
  });

  it("escapes what would break a table or be taken for markup, and is loud about wrong data", () => {
    const cells = [buildMismatch(), buildSkipped({ memory: "mapped" }, "a | b <c>")];
    const broken = drawn(resultKind, buildDocument({ cells }), "markdown");
    expect(broken).toContain("a \\| b \\<c\\>");
    expect(broken).toContain("\n- \\- skipped: a");
    expect(broken).toContain("**MISMATCH**");
    expect(broken.match(/DATA CAME BACK WRONG/g)).toHaveLength(1);
  });
});

describe("formats", () => {
  it("renders each reproducibly, and says that the device is emulated", () => {
    const screen = fileScreen();
    const document = buildEmulatedDocument();
    for (const format of textFormats("result")) {
      const text = drawn(resultKind, document, format, screen);
      expect(text).toBe(drawn(resultKind, document, format, screen));
      expect(text).toContain(emulatedNotice);
    }
  });
});
