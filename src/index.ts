/** pinbench as a library: its functions return the documents that the commands print with --json. */

export type { CellComparison, Comparison } from "./compare/comparison.js";
export type { HistoryDocument, Trend } from "./compare/history/history-document.js";
export type { Diagnosis, Finding } from "./doctor/diagnosis.js";
export { type ErrorKind, PinbenchError } from "./errors.js";
export type { ExplainedAnswer, Explanation } from "./explain/explanation.js";
export type { FleetDocument, FleetOutlier } from "./fleet/fleet-document.js";
export {
  type CompareOptions,
  compare,
  type Results,
  type ThresholdOptions,
} from "./library/compare-function.js";
export { type DevicesOptions, devices } from "./library/devices-function.js";
export { type DoctorOptions, doctor } from "./library/doctor-function.js";
export { type ExplainOptions, explain } from "./library/explain-function.js";
export { type FleetOptions, fleet } from "./library/fleet-function.js";
export { type HistoryOptions, history } from "./library/history-function.js";
export { type PinOptions, pin } from "./library/pin-function.js";
export { type PlanOptions, type RunOptions, type RunProgress, run } from "./library/run-function.js";
export { type TuneOptions, tune } from "./library/tune-function.js";
export type { PinnedPool, Pinning } from "./pin/pinning-document.js";
export type { DeviceEntry, DevicesReport } from "./report/describe-devices.js";
export type { CellResult } from "./results/cell-schema.js";
export type { ResultDocument } from "./results/schema.js";
export type { Recommendation, Tuning } from "./results/tuning.js";
export type { List, Quantity } from "./settings/units.js";
