import { afterEach, expect, it, vi } from "vitest";
import { CheckMeasuring } from "../../src/cli/check-measuring.js";
import { measureInFreshProcesses } from "../../src/measure/fresh-process.js";
import type { ProgressState } from "../../src/report/progress.js";
import { presets } from "../../src/settings/presets.js";
import { fillRunSettings } from "../../src/settings/settings.js";
import type { RunSettings } from "../../src/settings/table.js";
import type { CellPart } from "../helpers/result-document.js";
import { buildRuns, resultSet, usualRule } from "../helpers/runs.js";

vi.mock("../../src/measure/fresh-process.js");
afterEach(() => {
  vi.resetAllMocks();
});

/** Only the last cell is slower in the candidate. */
const usualCells: CellPart[] = [
  { memory: "pageable" },
  { memory: "staged" },
  { memory: "pinned" },
  { memory: "registered" },
];
const atSpeed = (cells: readonly CellPart[], ofLast: number) =>
  cells.map((cell, i) => ({ ...cell, GBps: i === cells.length - 1 ? ofLast : 50 }));

interface Measured {
  budgetNs?: number | null;
  confirmAfterNs?: number;
  cells?: readonly CellPart[];
}

/** Checks cells with mocked processes; resolves with the settings and times of each series of them. */
async function check({ budgetNs = null, confirmAfterNs = 0, cells = usualCells }: Measured) {
  const baseline = resultSet(buildRuns({ cells: atSpeed(cells, 50) }), "before");
  const documents = buildRuns({ cells: atSpeed(cells, 25), seed: 2 });
  const settings = { ...fillRunSettings(), budgetNs, cells: documents[0]!.cells.map(({ id }) => id) };
  const series: { settings: RunSettings; startedMs: number; endedMs: number }[] = [];
  const states: ProgressState[] = [];
  vi.mocked(measureInFreshProcesses).mockImplementation(async function* (settings) {
    const startedMs = performance.now();
    try {
      for (const [run, document] of documents.entries()) {
        if (run === 0) yield { kind: "start", run };
        yield { kind: "result", run, document };
      }
    } finally {
      // The confirmation reads no more runs once it has enough.
      series.push({ settings, startedMs, endedMs: performance.now() });
    }
  });
  const measuring = new CheckMeasuring({
    ...{ baseline, settings, runs: 5, confirmAfterNs },
    signal: new AbortController().signal,
    onProgress: (state) => states.push(state()),
  });
  const comparison = await measuring.compare({ version: "0.1.0", command: "check", rule: usualRule });
  const suspects = settings.cells.slice(-1);
  expect(comparison?.confirmation).toEqual({ runs: 5, suspects });
  return { settings, suspects, series, states };
}

it.each([
  [4e9, 1e9],
  [null, presets.default.budgetNs / 4],
])(
  "a check measures one suspected cell of four again in a quarter of the time: with a budget of %j ns in %j ns",
  async (budgetNs, ofOne) => {
    const { settings, suspects, series } = await check({ budgetNs });
    expect(series.map(({ settings }) => settings)).toEqual([
      settings,
      { ...settings, cells: suspects, budgetNs: ofOne },
    ]);
  },
);

it("the progress of a check shows its runs, the wait before it confirms, and the confirming runs", async () => {
  const { states } = await check({ confirmAfterNs: 3e6 });
  expect(states.map(({ elapsedNs: _, ...state }) => state)).toEqual([
    { limitNs: null, done: { text: "run 1 of 5", more: "4 cells" } },
    { limitNs: 3e6, done: { text: "waiting to measure 1 suspect again" } },
    { limitNs: null, done: { text: "measuring 1 suspect again", more: "run 1 of at most 24" } },
  ]);
});

it("a suspected pageable cell is measured again with its host copies, which add to the budget", async () => {
  const host: CellPart[] = [1, 2, 4].map((workers) => ({ memory: "host", workers }));
  const cells: CellPart[] = [{ memory: "pinned" }, ...host, { memory: "pageable", workers: 8 }];
  const { settings, series } = await check({ cells, budgetNs: 5e9 });
  const confirming = series[1]!.settings;
  expect([...confirming.cells!].sort()).toEqual(settings.cells.slice(1).sort());
  // Four of the five cells: each has as much time as before.
  expect(confirming.budgetNs).toBe(4e9);
});

it("a check that its deadline ends fails, and reports the comparison of its finished runs", async () => {
  const controller = new AbortController();
  const [first, second] = buildRuns({ cells: atSpeed(usualCells, 25), seed: 2 });
  vi.mocked(measureInFreshProcesses).mockImplementation(async function* () {
    for (const document of [first!, second!]) yield { kind: "result", run: 0, document };
    controller.abort();
  });
  const measuring = new CheckMeasuring({
    baseline: resultSet(buildRuns({ cells: atSpeed(usualCells, 50) }), "before"),
    ...{ settings: { ...fillRunSettings(), cells: first!.cells.map(({ id }) => id) }, runs: 5 },
    ...{ confirmAfterNs: 0, signal: controller.signal, onProgress: () => undefined },
  });
  const request = { version: "0.1.0", command: "check", rule: usualRule } as const;
  expect(measuring.compareSoFar(request)).toBeNull();
  expect(await measuring.compare(request)).toBeNull();
  const { outcome, candidate, notes } = measuring.compareSoFar(request)!;
  expect({ outcome, runs: candidate.runs }).toEqual({ outcome: "failed", runs: 2 });
  expect(notes.join()).toContain("the check ended after 2 of 5 runs, and confirmed nothing");
});
