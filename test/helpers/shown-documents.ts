import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describeHistory } from "../../src/compare/history/trends.js";
import { comparisonKind } from "../../src/compare/report/comparison-report.js";
import { historyKind } from "../../src/compare/report/history-report.js";
import { diagnosisKind } from "../../src/doctor/diagnosis-report.js";
import type { Screen } from "../../src/draw/screen.js";
import { explanationKind, renderQuestions } from "../../src/explain/explanation-report.js";
import { questions } from "../../src/explain/questions.js";
import { fleetKind } from "../../src/fleet/report/fleet-report.js";
import { devicesReport } from "../../src/report/devices-report.js";
import { planReport } from "../../src/report/plan-report.js";
import { resultKind } from "../../src/report/result-report.js";
import { usualSetting } from "../../src/results/loader-setting.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { tuningKind } from "../../src/tune/report/tuning-formats.js";
import { h200, planOf } from "../plan/support.js";
import { blockCells } from "./blocks.js";
import { buildDiagnosis, buildSlowDiagnosis } from "./diagnosis.js";
import { drawn } from "./drawn.js";
import { buildExplanation } from "./explanation.js";
import { buildMixedFleet } from "./fleet.js";
import { buildEntry, buildFigure, buildTrend, pinnedId } from "./history.js";
import { buildDeviceEntry, buildDocument, buildHost } from "./result-document.js";
import { compareRuns } from "./runs.js";
import { buildTried, buildTuning } from "./tuning.js";

/** One document of each kind to look at; sweeps were recorded on a GPU. */

function recorded(name: string): ResultDocument {
  return parseResult(
    readFileSync(fileURLToPath(new URL(`../../results/nvidia-h200/${name}.json`, import.meta.url)), "utf8"),
  );
}

const sweep = recorded("default");

/** The same sweep, in which some copies from the device take so much longer. */
export function slowed(document: ResultDocument): ResultDocument {
  const slower = (figure: number | null) => figure && 0.9 * figure;
  return {
    ...document,
    cells: document.cells.map((cell) =>
      cell.direction !== "d2h" || cell.memory !== "pinned" || cell.sizeBytes < 2 ** 24
        ? cell
        : {
            ...cell,
            stats: cell.stats.map(({ bandwidthGBps: rate, linkShare, ...stats }) => ({
              ...stats,
              bandwidthGBps: {
                ...rate,
                low: slower(rate.low),
                median: slower(rate.median)!,
                high: slower(rate.high),
              },
              linkShare: slower(linkShare),
            })),
          },
    ),
  };
}

export const comparison = compareRuns([sweep], [slowed(sweep)]);

const trend = buildTrend({ checks: 90, steps: { 60: -0.05 } });
export const history = describeHistory({
  version: "0.1.0",
  path: "history",
  history: {
    entries: trend.map((factor, day) =>
      buildEntry(day, {
        fingerprint: { driver: day < 60 ? "570.1" : "580.2" },
        series: [
          buildFigure({ figure: 55 * factor }),
          buildFigure({ id: pinnedId.replace("h2d", "d2h"), moved: "d2h", figure: 50 * factor }),
          buildFigure({ id: pinnedId.replace("pinned", "write-combined"), figure: 50 * factor }),
        ],
      }),
    ),
    notes: [],
  },
  cells: ["*"],
});

export const tuning = buildTuning({
  tried: [
    buildTried(usualSetting(0, false), 20),
    buildTried(usualSetting(8, false), 72),
    buildTried(usualSetting(16, false), 72.9),
    buildTried(usualSetting(16, true), 71.3),
  ],
});

const devices = {
  backend: "cuda",
  notice: null,
  driver: { library: "libcuda.so.1", version: "580.159.04", cudaVersion: "13.0", nvmlError: null },
  devices: [buildDeviceEntry()],
  host: buildHost(),
  features: [
    { name: "link and clocks (NVML)", on: true, reason: null },
    { name: "kernels", on: false, reason: "this build was made without nvcc: mapped memory is skipped" },
  ],
  build: { version: "0.1.0", compiler: "gcc 12.2.0", kernels: false, sanitizer: null },
} as const;

export const fleet = buildMixedFleet();

const plan = planOf();

/** The texts for people, by their subject. */
export const shownDocuments: Readonly<Record<string, (screen: Screen) => string>> = {
  run: (screen) => drawn(resultKind, sweep, "table", screen),
  beside: (screen) => drawn(resultKind, recorded("at-once-beside"), "table", screen),
  together: (screen) => drawn(resultKind, recorded("at-once-together"), "table", screen),
  blocks: (screen) => drawn(resultKind, buildDocument({ cells: blockCells() }), "table", screen),
  compare: (screen) => drawn(comparisonKind, comparison, "table", screen),
  history: (screen) => drawn(historyKind, history, "table", screen),
  fleet: (screen) => drawn(fleetKind, fleet, "table", screen),
  tune: (screen) => drawn(tuningKind, tuning, "table", screen),
  devices: (screen) =>
    devicesReport({ ...devices, devices: [...devices.devices], features: [...devices.features] }, screen),
  doctor: (screen) => drawn(diagnosisKind, buildDiagnosis(), "table", screen),
  explain: (screen) => drawn(explanationKind, buildExplanation(), "table", screen),
  "explain-questions": (screen) => renderQuestions(questions, "table", screen),
  "doctor-slow": (screen) => drawn(diagnosisKind, buildSlowDiagnosis(), "table", screen),
  plan: (screen) => planReport(plan, [{ ...buildDeviceEntry(), ...h200 } as never], 1, screen),
};
