/** The program as a library: what the commands measure and find, as the documents that their --json prints. */
import { compareResults } from "./compare/compare-results.js";
import type { Comparison } from "./compare/comparison.js";
import { describeHistory } from "./compare/courses.js";
import type { HistoryDocument } from "./compare/history-document.js";
import { idsOf, type ResultSet, readResultSet, runsOf } from "./compare/result-set.js";
import { refuseUnmatched } from "./compare/unmatched-pattern.js";
import { diagnoseMachine } from "./doctor/diagnose-machine.js";
import type { Diagnosis } from "./doctor/diagnosis.js";
import { prepareExamination } from "./doctor/prepare-examination.js";
import { PinbenchError } from "./errors.js";
import { openDevices } from "./explain/experiment-tools.js";
import { explainMachine } from "./explain/explain-machine.js";
import type { Explanation } from "./explain/explanation.js";
import { questionsNamed } from "./explain/questions.js";
import type { FleetDocument } from "./fleet/fleet-document.js";
import { judgeResults } from "./fleet/judge-results.js";
import { prepareRun, shareDevices } from "./measure/prepare.js";
import { Run } from "./measure/run.js";
import { packageVersion } from "./package-facts.js";
import { PinMemory, preparePools } from "./pools/pin-memory.js";
import type { Pinning } from "./pools/pinning-document.js";
import { readHistory } from "./results/history-file.js";
import { checkedResult } from "./results/parse.js";
import type { ResultDocument } from "./results/schema.js";
import type { Tuning } from "./results/tuning.js";
import type { Direction, Memory, QuestionName } from "./settings/choices.js";
import { commandSettings } from "./settings/command-settings.js";
import { readSection, thresholdsOf } from "./settings/configuration.js";
import { pinSettings } from "./settings/pin-settings.js";
import { type Options, optionName } from "./settings/setting.js";
import {
  type Call,
  defaultsOf,
  fillRunSettings,
  readGiven,
  readOptions,
  type TuneSettings,
} from "./settings/settings.js";
import {
  defaultSignificance,
  fleetSettings,
  judgingSettings,
  runSettings,
  saidByCellIds,
  tuneSettings,
  usualBudgetNs,
} from "./settings/table.js";
import type { List, Quantity } from "./settings/units.js";
import type { LiveJob } from "./tune/live/live-job.js";
import { openLive } from "./tune/live/open-live.js";
import { machineLimits } from "./tune/machine-limits.js";
import { openProbe } from "./tune/open-probe.js";
import { tuneLoader } from "./tune/tune-loader.js";

export type { CellComparison, Comparison } from "./compare/comparison.js";
export type { Course, HistoryDocument } from "./compare/history-document.js";
export type { Diagnosis, Finding } from "./doctor/diagnosis.js";
export { type ErrorKind, PinbenchError } from "./errors.js";
export type { ExplainedAnswer, Explanation } from "./explain/explanation.js";
export type { FleetDocument, FleetOutlier } from "./fleet/fleet-document.js";
export type { PinnedPool, Pinning } from "./pools/pinning-document.js";
export type { CellResult, ResultDocument } from "./results/schema.js";
export type { Recommendation, Tuning } from "./results/tuning.js";
export type { List, Quantity } from "./settings/units.js";

/** What to measure and how: the keys, values and defaults that `plan` in pinbench.config.json has. */
export type PlanOptions = Omit<Options<typeof runSettings>, "cells">;

/** What to measure, how to end it early, and whom to tell how far it is. */
export interface RunOptions extends PlanOptions {
  /** Exactly these cells, by the ids that results have. */
  cells?: readonly string[];
  /** Ends the run with what it has measured: the status of its document is then "aborted". */
  signal?: AbortSignal;
  /** Called before each visit of a cell. */
  onProgress?: (progress: RunProgress) => void;
}

/** How far a run has come. */
export interface RunProgress {
  /** Id of the cell that is measured. */
  cell: string;
  /** From 1. */
  round: number;
  /** Cells whose interval is as narrow as asked. */
  convergedCells: number;
  totalCells: number;
}

/**
 * Measures as `pinbench run` does, and returns the document that its --json prints. It prints nothing, and reads no
 * configuration and no arguments. A cell that fails does not reject: see its `outcome`. What is wrong with the options
 * or the machine rejects as a PinbenchError.
 */
export async function run({ cells, signal, onProgress, ...plan }: RunOptions = {}): Promise<ResultDocument> {
  const call = callNow();
  const given = await readSection("plan", plan);
  if (cells !== undefined) {
    const both = saidByCellIds.find((key) => given[key] !== undefined);
    if (both !== undefined) {
      const name = optionName(runSettings[both].flag);
      throw new PinbenchError("usage", `cells and ${name} exclude each other: an id says all of a cell.`);
    }
  }
  const settings = fillRunSettings({
    origin: "caller",
    given: {
      ...given,
      ...(cells === undefined ? {} : { cells: readGiven("cells", runSettings.cells.kind, cells) }),
    },
  });
  const prepared = await prepareRun(settings);
  const sharing = shareDevices(prepared, { command: "library", ownerPid: null });
  const running = new Run({ ...call, ...prepared, sharing });
  try {
    await sharing?.begin();
    await follow(running, signal, onProgress);
  } finally {
    await sharing?.release();
  }
  return running.document();
}

async function follow(running: Run, signal: RunOptions["signal"], onProgress: RunOptions["onProgress"]) {
  for await (const event of running.measure(signal ?? new AbortController().signal)) {
    if (event.kind !== "visit") continue;
    onProgress?.({
      cell: event.progress.cell.id,
      round: event.round + 1,
      convergedCells: running.cells.filter(({ outcome }) => outcome === "converged").length,
      totalCells: running.cells.length,
    });
  }
}

/** A file, a folder of runs, or documents: of one run, or of several of the same machine. */
export type Results = string | ResultDocument | readonly ResultDocument[];

/** The drops that count, with the keys that `thresholds` in pinbench.config.json has. */
export interface ThresholdOptions {
  default?: Quantity;
  memory?: Partial<Record<Memory, Quantity>>;
  direction?: Partial<Record<Direction, Quantity>>;
  /** By patterns of cell ids; the first that matches wins. */
  cells?: Record<string, Quantity>;
  floorGBps?: number;
  floorUs?: number;
}

/** What to compare with what, and by which rule. */
export interface CompareOptions {
  baseline: Results;
  candidate: Results;
  thresholds?: ThresholdOptions;
  /** The chance that any cell is called slower where none is; 0.003 unless given. */
  significance?: Quantity;
  /** Whether what cannot be decided makes the outcome "inconclusive". */
  strict?: boolean;
  /** Compares although GPU or link width differ. */
  allowMismatch?: boolean;
}

/**
 * Compares as `pinbench compare` does, and returns the document that its --json prints. A regression does not reject:
 * see its `outcome`. Rejects with a PinbenchError where the results cannot be read or have no cell in common, and for
 * a pattern of thresholds that matches none.
 */
export async function compare({ baseline, candidate, ...options }: CompareOptions): Promise<Comparison> {
  const [before, after] = [
    await resultSetOf(baseline, "baseline"),
    await resultSetOf(candidate, "candidate"),
  ];
  const thresholds = thresholdsOf(await readSection("thresholds", options.thresholds ?? {}));
  refuseUnmatched(
    thresholds.cells.map(({ pattern }) => pattern),
    idsOf(before, after),
    "either result",
  );
  return compareResults({
    version: packageVersion(),
    command: "compare",
    baseline: before,
    candidate: after,
    fresh: [],
    suspects: [],
    rule: {
      significance: readGiven(
        "significance",
        judgingSettings.significance.kind,
        options.significance ?? defaultSignificance,
      ),
      thresholds,
      allowMismatch: options.allowMismatch ?? false,
      strict: options.strict ?? false,
    },
  });
}

async function resultSetOf(results: Results, role: "baseline" | "candidate"): Promise<ResultSet> {
  if (typeof results === "string") return readResultSet(results, role);
  const given: readonly unknown[] = isList(results) ? results : [results];
  const documents = given.map((value) => checkedResult(value, `a document of the ${role}`));
  if (documents.length === 0) throw new PinbenchError("usage", `The ${role} has no runs.`);
  if (new Set(documents.map(({ run }) => run.id)).size < documents.length) {
    // It would count as another process, and make the spread between them look smaller than it is.
    throw new PinbenchError("usage", `The ${role} has the same run twice.`);
  }
  return { path: null, runs: documents.flatMap((document) => runsOf(document, null)) };
}

function isList(results: ResultDocument | readonly ResultDocument[]): results is readonly ResultDocument[] {
  return Array.isArray(results);
}

/** Which history to tell of. */
export interface HistoryOptions {
  /** What `pinbench check --history` appends to. */
  folder: string;
  /** Ids of cells, or patterns in which `*` stands for any characters; the groups of cells unless given. */
  cells?: List<string>;
}

/**
 * Tells the course of past checks as `pinbench history` does, and returns the document that its --json prints. Rejects
 * with a PinbenchError where there is no history, or no such cell in it.
 */
export async function history({ folder, cells }: HistoryOptions): Promise<HistoryDocument> {
  if (typeof folder !== "string") throw new PinbenchError("usage", "The option folder must be text.");
  const { kind } = commandSettings.history.cells;
  const patterns = cells === undefined ? null : readGiven("cells", kind, cells);
  return describeHistory({
    version: packageVersion(),
    path: folder,
    history: await readHistory(folder),
    cells: patterns,
  });
}

const { backend, devices, quick, lastLevelCacheBytes } = commandSettings.doctor;
const doctorSettings = { backend, devices, quick, lastLevelCacheBytes } as const;

/** Which devices to examine, and how to end it early. */
export interface DoctorOptions extends Options<typeof doctorSettings> {
  /** Ends the examination, which then rejects. */
  signal?: AbortSignal;
}

/**
 * Examines as `pinbench doctor` does, and returns the document that its --json prints. What costs bandwidth does not
 * reject: see its `verdict`. What is wrong with the options or the machine rejects as a PinbenchError.
 */
export async function doctor({
  signal = new AbortController().signal,
  ...options
}: DoctorOptions = {}): Promise<Diagnosis> {
  const call = callNow();
  const settings = { ...defaultsOf(doctorSettings), ...readOptions(doctorSettings, options) };
  const isQuick = settings.quick;
  const prepared = await prepareExamination({ ...settings, isQuick });
  const sharing = shareDevices(prepared, { command: "library", ownerPid: null });
  try {
    await sharing?.begin();
    return await diagnoseMachine({
      ...{ prepared, sharing, isQuick, signal, labels: {} },
      ...call,
      countedFromMs: call.startedMs,
      onActivity: () => undefined,
    });
  } finally {
    await sharing?.release();
  }
}

/** What to obtain, and how to end it early. */
export interface PinOptions extends Options<typeof pinSettings> {
  /** Ends it with what it has measured: the status of its document is then "aborted". */
  signal?: AbortSignal;
}

/**
 * Measures what pinned memory costs to obtain as `pinbench pin` does, and returns the document that its --json prints. A
 * way that is refused does not reject: see its `pools` and `limits`. What is wrong with the options or the machine rejects
 * as a PinbenchError. Nothing is pinned any more when it settles.
 */
export async function pin({
  signal = new AbortController().signal,
  ...options
}: PinOptions = {}): Promise<Pinning> {
  const call = callNow();
  const prepared = await preparePools({
    ...defaultsOf(pinSettings),
    ...readOptions(pinSettings, options),
  });
  const { backend, devices } = prepared;
  const sharing = shareDevices({ backend, devices: [...devices] }, { command: "library", ownerPid: null });
  try {
    await sharing?.begin();
    const pinning = new PinMemory({
      ...{ prepared, sharing, signal, labels: {} },
      ...call,
      countedFromMs: call.startedMs,
      onActivity: () => undefined,
    });
    await pinning.measure();
    return pinning.document();
  } finally {
    await sharing?.release();
  }
}

const explainSettings = {
  backend: commandSettings.explain.backend,
  devices: commandSettings.explain.devices,
  python: commandSettings.explain.python,
  lastLevelCacheBytes: commandSettings.explain.lastLevelCacheBytes,
} as const;

/** Which questions to answer, on which devices, and how to end it early. */
export interface ExplainOptions extends Options<typeof explainSettings> {
  questions: readonly QuestionName[] | "all";
  /** Ends it with the answers that there are. */
  signal?: AbortSignal;
}

/**
 * Answers questions by experiments as `pinbench explain` does, and returns the document that its --json prints. A question
 * that fails does not reject: see its answer's `failure`. What is wrong with the options rejects as a PinbenchError.
 */
export async function explain({
  questions,
  signal = new AbortController().signal,
  ...options
}: ExplainOptions): Promise<Explanation> {
  const call = callNow();
  const names: unknown = questions;
  const areNames = Array.isArray(names) && names.every((name) => typeof name === "string");
  if (names !== "all" && !areNames) {
    throw new PinbenchError("usage", 'The option questions must be "all" or a list of names.');
  }
  const settings = { ...defaultsOf(explainSettings), ...readOptions(explainSettings, options) };
  const asked = questionsNamed(questions);
  const prepared = await openDevices(settings);
  const sharing = shareDevices(prepared, { command: "library", ownerPid: null });
  try {
    await sharing?.begin();
    return await explainMachine({
      ...{ questions: asked, prepared, sharing, settings, signal },
      ...call,
      onActivity: () => undefined,
    });
  } finally {
    await sharing?.release();
  }
}

/** Which nodes to judge, and by which rule. */
export interface FleetOptions extends Options<typeof fleetSettings> {
  /** Results of many nodes: files, and folders with all folders below them. */
  results: string | readonly string[];
}

/**
 * Says which of many nodes are slow as `pinbench fleet` does, and returns the document that its --json prints. Slow nodes
 * do not reject: see its `outliers`. Rejects with a PinbenchError where there is no result of a node.
 */
export async function fleet({ results, ...options }: FleetOptions): Promise<FleetDocument> {
  const paths: readonly unknown[] = Array.isArray(results) ? results : [results];
  if (paths.length === 0 || !paths.every((path) => typeof path === "string")) {
    throw new PinbenchError("usage", "The option results must be a path, or a list of them.");
  }
  return judgeResults(paths, { ...defaultsOf(fleetSettings), ...readOptions(fleetSettings, options) });
}

/** The flags of `pinbench tune`, with their defaults. Give one of `command`, `torch`, `sampleBytes` and `data`. */
export interface TuneOptions extends Omit<Options<typeof tuneSettings>, "go"> {
  /** A training job, such as `["python", "train.py"]`: tuned as it runs, with stdin, stdout and stderr of this process. */
  command?: readonly string[];
  /** Ends the search with what it has found: the status of its document is then "aborted". */
  signal?: AbortSignal;
}

/**
 * Tunes as `pinbench tune` does, and returns the document that its --json prints. It prints nothing. Where no setting
 * could be measured, its `recommendation` is null. Rejects with a PinbenchError where there is nothing to measure with:
 * wrong options, no Python, a data set that cannot make a batch, an abort before the first trial.
 */
export async function tune({
  signal = new AbortController().signal,
  command,
  ...options
}: TuneOptions): Promise<Tuning> {
  const call = callNow();
  // What a command does after its search is for whoever started it.
  const { go, ...known } = tuneSettings;
  const settings = { ...defaultsOf(tuneSettings), ...readOptions(known, options), go: go.default };
  if (command !== undefined) return tuneJob(command, settings, call, signal);
  const probe = await openProbe(settings, signal);
  const budgetNs = settings.budgetNs ?? usualBudgetNs.alone;
  const limits = machineLimits(settings.ranks);
  try {
    return await tuneLoader(probe, { ...settings, ...call, budgetNs, limits }, signal);
  } finally {
    await probe.close();
  }
}

async function tuneJob(
  command: readonly string[],
  settings: TuneSettings,
  call: Call,
  signal: AbortSignal,
): Promise<Tuning> {
  if (!Array.isArray(command) || command.length === 0 || command.some((word) => typeof word !== "string")) {
    throw new PinbenchError("usage", "The option command must be a list of words, the program first.");
  }
  let job: LiveJob | null = null;
  const onStart = (started: LiveJob) => {
    job = started;
  };
  try {
    const probe = await openLive({ command, settings, signal, onStart });
    const { budgetNs } = probe;
    const limits = machineLimits(probe.ranksOfNode);
    return await tuneLoader(probe, { ...settings, ...call, budgetNs, limits }, signal);
  } finally {
    await (job as LiveJob | null)?.end();
  }
}

function callNow(): Call {
  return { argv: [], startedAt: new Date(), startedMs: performance.now() };
}
