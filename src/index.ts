/** The program as a library: what the commands measure and find, as the documents that their --json prints. */
export type { CellComparison, Comparison } from "./compare/comparison.js";
export type { Course, HistoryDocument } from "./compare/history/history-document.js";
export type { Diagnosis, Finding } from "./doctor/diagnosis.js";
export { type ErrorKind, PinbenchError } from "./errors.js";
export type { ExplainedAnswer, Explanation } from "./explain/explanation.js";
export type { FleetDocument, FleetOutlier } from "./fleet/fleet-document.js";
export {
  type DoctorOptions,
  doctor,
  type ExplainOptions,
  explain,
  type PinOptions,
  pin,
} from "./library/examine-machine.js";
export {
  type CompareOptions,
  compare,
  type FleetOptions,
  fleet,
  type HistoryOptions,
  history,
  type Results,
  type ThresholdOptions,
} from "./library/judge-documents.js";
export { type PlanOptions, type RunOptions, type RunProgress, run } from "./library/run-copies.js";
export { type TuneOptions, tune } from "./library/tune-loading.js";
export type { PinnedPool, Pinning } from "./pin/pinning-document.js";
export type { CellResult, ResultDocument } from "./results/schema.js";
export type { Recommendation, Tuning } from "./results/tuning.js";
export type { List, Quantity } from "./settings/units.js";
