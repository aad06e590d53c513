import { afterEach, expect, it, vi } from "vitest";
import { CheckMeasuring } from "../../src/cli/check-measuring.js";
import { measureInFreshProcesses } from "../../src/measure/fresh-process.js";
import { presets } from "../../src/settings/presets.js";
import { fillRunSettings } from "../../src/settings/settings.js";
import { buildRuns, resultSet, usualRule } from "../helpers/runs.js";

vi.mock("../../src/measure/fresh-process.js");
afterEach(() => {
  vi.resetAllMocks();
});

/** Only the last one is slower in the candidate. */
const memories = ["pageable", "staged", "pinned", "registered"] as const;
const cellsOf = (GBps: number) =>
  memories.map((memory) => ({ memory, GBps: memory === "registered" ? GBps : 50 }));

it.each([
  [4e9, 1e9],
  [null, presets.default.budgetNs / 4],
])(
  "suspects get as much time a cell as before: of a budget of %j ns one of four cells gets %j",
  async (budgetNs, confirming) => {
    const baseline = resultSet(buildRuns({ cells: cellsOf(50) }), "before");
    const documents = buildRuns({ cells: cellsOf(25), seed: 2 });
    const cells = documents[0]!.cells.map(({ id }) => id);
    const settings = { ...fillRunSettings(), budgetNs, cells };
    vi.mocked(measureInFreshProcesses).mockImplementation(async function* () {
      for (const [run, document] of documents.entries()) yield { kind: "result", run, document };
    });
    const measuring = new CheckMeasuring({
      ...{ baseline, settings, runs: 5, confirmAfterNs: 0 },
      signal: new AbortController().signal,
      onProgress: () => undefined,
    });
    const comparison = await measuring.compare({ version: "0.1.0", command: "check", rule: usualRule });
    expect(comparison?.confirmation).toEqual({ runs: 5, suspects: [cells[3]] });
    expect(vi.mocked(measureInFreshProcesses).mock.calls.map(([asked]) => asked)).toEqual([
      settings,
      { ...settings, cells: [cells[3]], budgetNs: confirming },
    ]);
  },
);
