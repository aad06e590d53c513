/** pinbench as a library: its functions return the documents that the commands print with --json. */
export type { CellResult } from "./results/cell-schema.js";

import {
  explain as answer,
  doctor as examine,
  listDevices,
  pin as obtain,
} from "./library/examine-machine.js";
import { history as follow, compare as judge, fleet as judgeFleet } from "./library/judge-documents.js";
import { forCallers, run as measure } from "./library/run-copies.js";
import { tune as search } from "./library/tune-loading.js";

export type { CellComparison, Comparison } from "./compare/comparison.js";
export type { HistoryDocument, Trend } from "./compare/history/history-document.js";
export type { Diagnosis, Finding } from "./doctor/diagnosis.js";
export { type ErrorKind, PinbenchError } from "./errors.js";
export type { ExplainedAnswer, Explanation } from "./explain/explanation.js";
export type { FleetDocument, FleetOutlier } from "./fleet/fleet-document.js";
export type { DevicesOptions, DoctorOptions, ExplainOptions, PinOptions } from "./library/examine-machine.js";
export type {
  CompareOptions,
  FleetOptions,
  HistoryOptions,
  Results,
  ThresholdOptions,
} from "./library/judge-documents.js";
export type { PlanOptions, RunOptions, RunProgress } from "./library/run-copies.js";
export type { TuneOptions } from "./library/tune-loading.js";
export type { PinnedPool, Pinning } from "./pin/pinning-document.js";
export type { DeviceEntry, DevicesReport } from "./report/describe-devices.js";
export type { ResultDocument } from "./results/schema.js";
export type { Recommendation, Tuning } from "./results/tuning.js";
export type { List, Quantity } from "./settings/units.js";

/** Measures copies, like `pinbench run`. A cell that fails does not reject: see its `outcome`. */
export const run = forCallers(measure);
/** Compares results, like `pinbench compare`. A regression does not reject: see its `outcome`. */
export const compare = forCallers(judge);
/** Lists the devices, like `pinbench devices`, without measuring. */
export const devices = forCallers(listDevices);
/** Examines the machine, like `pinbench doctor`. Findings do not reject: see its `verdict`. */
export const doctor = forCallers(examine);
/** Measures the cost of obtaining pinned memory, like `pinbench pin`: see `recommendation`. */
export const pin = forCallers(obtain);
/** Answers questions by experiments, like `pinbench explain`. */
export const explain = forCallers(answer);
/** Finds slow nodes, like `pinbench fleet`. Slow nodes do not reject: see `outliers`. */
export const fleet = forCallers(judgeFleet);
/** Finds steps and drifts in past checks, like `pinbench history`. */
export const history = forCallers(follow);
/** Finds the settings of a loader, like `pinbench tune`: see `recommendation`. */
export const tune = forCallers(search);
