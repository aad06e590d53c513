/** The program as a library: what the commands measure and find, as the documents that their --json prints. */
export { type CompareOptions, compare, type Results } from "./api/compare.js";
export type { List, PlanOptions, Quantity, ThresholdOptions } from "./api/options.js";
export { type RunOptions, type RunProgress, run } from "./api/run.js";
export { type TuneOptions, tune } from "./api/tune.js";
export type { CellComparison, Comparison } from "./compare/comparison.js";
export { type ErrorKind, PinbenchError } from "./errors.js";
export type { CellResult, ResultDocument } from "./results/schema.js";
export type { Recommendation, Tuning } from "./results/tuning.js";
