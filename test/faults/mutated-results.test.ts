import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { compareResults } from "../../src/compare/compare-results.js";
import { type Comparison, comparisonSchema } from "../../src/compare/comparison.js";
import { checkRecord } from "../../src/compare/history/check-record.js";
import { historySchema } from "../../src/compare/history/history-document.js";
import { describeHistory } from "../../src/compare/history/trends.js";
import { comparisonKind } from "../../src/compare/report/comparison-report.js";
import { historyKind } from "../../src/compare/report/history-report.js";
import { runsOf } from "../../src/compare/result-set.js";
import { jsonReport } from "../../src/draw/json.js";
import { fileScreen } from "../../src/draw/screen.js";
import type { SharingRecord } from "../../src/host/other-programs.js";
import { resultKind } from "../../src/report/result-report.js";
import { parseHistory } from "../../src/results/files/history-file.js";
import { historyEntrySchema } from "../../src/results/history-entry.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { drawn, textFormats } from "../helpers/drawn.js";
import { acceptedBy, expectNoPollution, runs } from "../helpers/hostile.js";
import { type Mutation, mutated, mutation } from "../helpers/mutations.js";
import {
  buildCell,
  buildColdStart,
  buildDocument,
  buildFailed,
  buildMismatch,
  buildSkipped,
  ofFiveProcesses,
} from "../helpers/result-document.js";
import { measureSmall } from "../helpers/run-cli.js";
import { buildRuns, usualRule } from "../helpers/runs.js";
import { countTrials, trials } from "../helpers/trials.js";

const plain = fileScreen();

/** Words that are no figures, and characters that a terminal or a page obeys. */
const unreadable = /\b(?:NaN|undefined|Infinity)\b|\[object |(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;

/** Requires that a text has none of these. */
function expectReadable(text: string): void {
  const found = unreadable.exec(text);
  if (found === null) return;
  throw new Error(`"${found[0]}" in: ${text.slice(Math.max(0, found.index - 200), found.index + 200)}`);
}

/** Requires that JSON is readable and equals the document. */
function expectDocument(text: string, document: unknown): void {
  expectReadable(text);
  expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(document)));
}

const document = (path: string | null, one: ResultDocument) => ({ path, runs: runsOf(one, path) });

function compared(baseline: ResultDocument, candidate: ResultDocument): Comparison | null {
  const request = {
    version: "0.1.0",
    command: "compare" as const,
    baseline: document("a.json", baseline),
    candidate: document("b.json", candidate),
    fresh: [],
    suspects: [],
    rule: usualRule,
  };
  return acceptedBy(() => compareResults(request), ["notComparable"])?.value ?? null;
}

function expectComparison(comparison: Comparison | null): void {
  if (comparison === null) return;
  comparisonSchema.parse(comparison);
  for (const format of textFormats("comparison")) {
    const text = drawn(comparisonKind, comparison, format, plain);
    if (format === "json") expectDocument(text, comparison);
    else expectReadable(text);
  }
}

/** Requires that a result is refused in one sentence, or drawn, compared and written unchanged. */
function expectAcceptedOrRefused(text: string, good: ResultDocument): boolean {
  const accepted = acceptedBy(() => parseResult(text, "mutant.json"));
  if (accepted === null) return false;
  const result = accepted.value;
  for (const format of textFormats("result")) {
    const report = drawn(resultKind, result, format, plain);
    if (format === "json") expectDocument(report, result);
    else expectReadable(report);
  }
  expect(JSON.stringify(parseResult(jsonReport(result)))).toBe(JSON.stringify(result));
  const other = text.length % 2 === 0 ? good : result;
  expectComparison(compared(result, other));
  const comparison = compared(other, result);
  expectComparison(comparison);
  if (comparison !== null) expectHistory(result, good, comparison);
  return true;
}

function expectHistory(result: ResultDocument, good: ResultDocument, comparison: Comparison): void {
  const records = [good, result].map((one) => checkRecord(runsOf(one, null), comparison));
  for (const record of records) expect(historyEntrySchema.parse(record)).toEqual(record);
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join("");
  const history = parseHistory(lines, "history.jsonl");
  const described = describeHistory({ version: "0.1.0", path: "h", history, cells: null });
  historySchema.parse(described);
  for (const format of textFormats("history")) {
    const text = drawn(historyKind, described, format, plain);
    if (format === "json") expectDocument(text, described);
    else expectReadable(text);
  }
}

const sharing: SharingRecord = {
  device: 0,
  others: [
    {
      kind: "pinbench",
      pid: 4711,
      name: "check",
      since: "2026-11-20T09:59:58.000Z",
      deviceMemoryBytes: null,
      wasThereBefore: true,
    },
    {
      kind: "program",
      pid: null,
      name: null,
      since: null,
      deviceMemoryBytes: 1024 ** 3,
      wasThereBefore: false,
    },
  ],
  activityBefore: { computeShare: 0.4, toDeviceGBps: 12.5, fromDeviceGBps: null },
  unseen: ["programs"],
};

const built = buildDocument({
  run: { sharing: [sharing, { ...sharing, device: 1 }] },
  coldStart: [buildColdStart()],
  cells: [
    ofFiveProcesses(buildCell({ GBps: 55.4 })),
    buildCell({ memory: "pageable", GBps: 10, relativeHalfWidth: 0.05, result: { outcome: "budget" } }),
    buildCell({ memory: "host", GBps: 12 }),
    buildCell({ direction: "bidir", workers: 2, GBps: { h2d: 25, d2h: 26, sum: 51 } }),
    buildCell({ mode: "latency", sizeBytes: 4096, GBps: 1, latencyUs: { median: 3.5, p99: 9 } }),
    buildCell({ beside: "compute", GBps: 50 }),
    buildCell({ chunks: 4, GBps: 50 }),
    buildCell({ together: [0, 1], GBps: 30 }),
    buildCell({ direction: "p2p", memory: "device", peer: 1, path: "read", GBps: 300 }),
    buildFailed({ sizeBytes: 1024 }, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"),
    buildSkipped({ sizeBytes: 2048 }, "no kernels"),
    buildMismatch({ sizeBytes: 8192, GBps: 5 }),
  ],
});

describe("a result that a program has changed at random is shown and compared, or refused in one sentence:", () => {
  let measured: ResultDocument;
  beforeAll(async () => {
    ({ document: measured } = await measureSmall([
      "--memory",
      "pinned,pageable",
      "--direction",
      "h2d,bidir",
    ]));
  });

  const repeated = buildRuns({ count: 1, cells: [{ GBps: 50 }, { GBps: 10, memory: "registered" }] })[0]!;

  it.each<[string, () => ResultDocument, number, number]>([
    ["one with every kind of cell", () => built, 15, 4000],
    ["one with two cells", () => repeated, 15, 4000],
    ["one measured on the emulated device", () => measured, 15, 2000],
  ])("%s", (_, documentOf, few, full) => {
    const good = documentOf();
    const trial = countTrials("results changed at random");
    let accepted = 0;
    fc.assert(
      fc.property(mutation, (change: Mutation) => {
        trial.tries();
        if (expectAcceptedOrRefused(mutated(good, change), good)) ++accepted;
        trial.survives();
      }),
      runs(trials(few, full)),
    );
    // Else nothing but refusals would have been tried.
    expect(accepted).toBeGreaterThan(0);
    expectNoPollution();
  });
});
