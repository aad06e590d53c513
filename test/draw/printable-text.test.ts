import { describe, expect, it } from "vitest";
import { describeHistory } from "../../src/compare/courses.js";
import { comparisonKind } from "../../src/compare/report/comparison-report.js";
import { historyKind } from "../../src/compare/report/history-report.js";
import { jsonReport } from "../../src/draw/json.js";
import { asciiText, printableDocument, printableText } from "../../src/draw/printable-text.js";
import { fileScreen } from "../../src/draw/screen.js";
import { fleetKind } from "../../src/fleet/report/fleet-report.js";
import { type DevicesReport, devicesReport } from "../../src/report/devices-report.js";
import { resultKind } from "../../src/report/result-report.js";
import { usualSetting } from "../../src/results/loader-setting.js";
import {
  comparisonFormats,
  fleetFormats,
  historyFormats,
  reportFormats,
  tuningFormats,
} from "../../src/settings/choices.js";
import { tuningKind } from "../../src/tune/report/tuning-formats.js";
import { buildCellComparison, buildComparison, buildSlower } from "../helpers/comparison.js";
import { drawn } from "../helpers/drawn.js";
import { buildFleet, buildLacking, buildNode, buildOutlier } from "../helpers/fleet.js";
import { buildEntry } from "../helpers/history.js";
import { buildCell, buildDevice, buildDocument, buildFailed, buildHost } from "../helpers/result-document.js";
import { buildTuning } from "../helpers/tuning.js";

/** Clears the screen, hides a line, turns text around, sets a window's title, ends a line. */
const odd = "N\u001b[2J\u202e\u2067\u061c\u200f\u009b31m\u001b]0;x\u0007\r\n=> all is well";
const shown = String.raw`N\x1b[2J\u202e\u2067\u061c\u200f\x9b31m\x1b]0;x\x07\r\n=> all is well`;
const plain = fileScreen();

/** Only what pinbench itself writes is left: line breaks. */
function expectPrintable(text: string): void {
  expect(text.match(/(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu)).toBeNull();
  expect(text).not.toMatch(/^=> all is well/m);
}

describe("printableText", () => {
  it.each([
    ["a control character", "\u0000\u001b\u007f\u009b", String.raw`\x00\x1b\x7f\x9b`],
    [
      "what turns text around",
      "\u061c\u200e\u200f\u202a\u202e\u2066\u2069",
      String.raw`\u061c\u200e\u200f\u202a\u202e\u2066\u2069`,
    ],
    ["what ends a line", "\n\r\t\u2028\u2029", String.raw`\n\r\t\u2028\u2029`],
  ])("writes %s as an escape", (_, text, escaped) => {
    expect(printableText(text)).toBe(escaped);
  });

  it("leaves everything else as it is", () => {
    const text = "größer 日本 עברית 👩‍🔧 a\\b %0A <b>";
    expect(printableText(text)).toBe(text);
  });
});

describe("asciiText", () => {
  it("spells the signs of pinbench's own texts", () => {
    expect(asciiText("10.6 ±2.1 %, −9.8 % → 3.0×, 5 µs … “a” ─ †")).toBe(
      '10.6 +-2.1 %, -9.8 % -> 3.0x, 5 us ... "a" - #',
    );
  });

  it("keeps the order of a curve's blocks, each another sign", () => {
    expect(asciiText("▁▂▃▄▅▆▇█")).toBe("_.:-=+*#");
  });

  it("writes every other character as an escape, and leaves ASCII alone", () => {
    expect(asciiText("größer 日本 👩")).toBe(String.raw`gr\xf6\xdfer \u65e5\u672c \u{1f469}`);
    const ascii = "\u001b[1m a\\b\n";
    expect(asciiText(ascii)).toBe(ascii);
  });
});

describe("printableDocument", () => {
  it("makes all texts printable, keys too, and nothing else", () => {
    const samples = new Float64Array(2);
    const document = { a: [{ "k\u001b": "v\u001b", n: 1, none: null, gone: undefined }], samples };
    const printable = printableDocument(document);
    expect(printable).toEqual({ a: [{ "k\\x1b": "v\\x1b", n: 1, none: null, gone: undefined }], samples });
    expect(printable.samples).toBe(samples);
  });

  it("is the document itself where there is nothing to do", () => {
    const document = buildDocument();
    expect(printableDocument(document)).toBe(document);
  });
});

describe("names that would act on a terminal or a page are shown as escapes, and are the truth in JSON:", () => {
  const result = buildDocument({
    devices: [buildDevice({ name: odd })],
    host: buildHost({ hostname: odd, cpuModel: odd }),
    fingerprint: { kernel: odd },
    cells: [buildCell({ GBps: 55 }), buildFailed({ sizeBytes: 1024 }, odd, odd)],
  });
  const slower = buildSlower({ reason: odd });
  const comparison = buildComparison({
    outcome: "regression",
    cells: [buildCellComparison({ id: odd }), slower],
    notes: [odd],
    baseline: { ...buildComparison().baseline, path: odd, deviceNames: [odd] },
    candidate: { ...buildComparison().candidate, path: odd, deviceNames: [odd] },
  });
  const machine = { hostName: [odd], gpuUuids: [odd], pciAddresses: [odd] };
  const checks = {
    entries: [buildEntry(1), buildEntry(2, { machine, fingerprint: { [odd]: odd } })],
    notes: [odd],
  };
  const history = describeHistory({ version: "0.1.0", path: odd, history: checks, cells: null });
  const tuning = buildTuning({
    probe: { source: odd },
    recommendation: { setting: usualSetting(8, true) },
    skipped: [{ setting: usualSetting(4, true), reason: odd }],
  });
  const fleet = buildFleet({
    notice: odd,
    nodes: [
      buildNode(odd, { labels: { [odd]: odd }, notes: [odd], runId: odd, file: odd }),
      buildLacking(`2${odd}`, "failed", odd),
      buildLacking(`3${odd}`, "not compared", odd),
    ],
    outliers: [buildOutlier(odd, { reason: odd, evidence: [odd] })],
    cleared: [buildOutlier(odd, { confirmed: false })],
    group: { facts: { gpu: odd }, tooFew: odd, slowAsAWhole: odd, notes: [odd] },
  });
  const renderings = [
    ...fleetFormats
      .filter((format) => format !== "html")
      .map((format) => ["a fleet", format, drawn(fleetKind, fleet, format, plain)] as const),
    ...reportFormats.map((format) => ["a result", format, drawn(resultKind, result, format, plain)] as const),
    ...comparisonFormats.map(
      (format) => ["a comparison", format, drawn(comparisonKind, comparison, format, plain)] as const,
    ),
    ...historyFormats.map(
      (format) => ["a history", format, drawn(historyKind, history, format, plain)] as const,
    ),
    ...tuningFormats.map((format) => ["a tuning", format, drawn(tuningKind, tuning, format, plain)] as const),
  ];

  it.each(renderings)("%s as %s", (_, format, text) => {
    expectPrintable(text);
    // It is there at all: the env format has no names.
    if (["table", "csv", "junit", "github"].includes(format)) expect(text).toContain(shown.slice(0, 8));
    if (format === "markdown") expect(text).toContain(String.raw`\\x1b`);
  });

  it("nothing of Python's in a comment", () => {
    const lines = drawn(tuningKind, tuning, "python", plain).split("\n");
    expect(lines.filter((line) => line !== "" && !line.startsWith("#") && !/^\w+=\w+,$/.test(line))).toEqual(
      [],
    );
  });

  it("JSON is read back as it was", () => {
    expect(JSON.parse(jsonReport(result))).toEqual(JSON.parse(JSON.stringify(result)));
    expect(JSON.parse(drawn(comparisonKind, comparison, "json", plain)).candidate.deviceNames).toEqual([odd]);
  });

  it("devices", () => {
    const report = {
      backend: "cuda",
      notice: null,
      driver: { library: odd, version: odd, cudaVersion: "13.0", nvmlError: odd },
      devices: [
        { ...buildDevice({ name: odd }), integrated: false, canMapHostMemory: true, upstreamPath: [odd] },
      ],
      host: buildHost({ kernel: odd }),
      features: [{ name: "kernels", on: false, reason: odd }],
      build: { version: "0.1.0", compiler: odd, kernels: false, sanitizer: null },
    } as DevicesReport;
    const text = devicesReport(report, plain);
    expectPrintable(text);
    expect(text).toContain(shown.slice(0, 8));
  });
});
