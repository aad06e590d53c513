import { ExitCode, PinbenchError } from "../errors.js";
import { cpuModel, hostname } from "../host/system.js";
import { packageVersion } from "../package-facts.js";
import { type LoaderSetting, type ProbeRecord, probeSchema, type Tuning } from "../results/tuning.js";
import type { Call } from "../settings/settings.js";
import { type TuneSettings, undecidedBudgetNs, usualBudgetNs } from "../settings/tune-settings.js";
import { doubled } from "../settings/units.js";
import { jobEnded, type Probe } from "./loader-probe.js";
import { cpusPerRank, limitsOfProcesses, type MachineLimits } from "./machine-limits.js";
import { bindingFaults } from "./process-binding.js";
import type { Measured } from "./search/choice.js";
import { stoppingRule, toDocument } from "./search/rate.js";
import { checksOf, recommend } from "./search/recommend.js";
import { search } from "./search/search.js";
import { Trials } from "./search/trials.js";

export interface TuneRequest extends Pick<TuneSettings, "maxWorkers" | "timeoutNs" | "budgetNs">, Call {
  limits: MachineLimits;
  /** The folder with /proc and /sys, which tests replace. */
  root?: string;
}

/**
 * Measures settings with an open probe until the search is done or the budget used, and recommends one. After an abort
 * or a failed probe, returns the results so far; rejects with a PinbenchError if there are none.
 */
export async function tuneLoader(
  probe: Probe,
  requested: TuneRequest,
  signal: AbortSignal,
  onTrial: (setting: LoaderSetting, best: Measured | null) => void = () => undefined,
): Promise<Tuning> {
  const searchStartedMs = performance.now();
  const request = { ...requested, limits: limitsOfProcesses(requested.limits, probe.facts.places ?? []) };
  const where = probe.facts.kind === "live" ? "live" : "alone";
  const budgetNs = request.budgetNs ?? usualBudgetNs[where];
  const longestNs = request.budgetNs ?? undecidedBudgetNs;
  const over = probe.over ?? new AbortController().signal;
  const deadline = AbortSignal.timeout(Math.ceil(longestNs / 1e6));
  const trials = new Trials(probe, {
    limits: request.limits,
    maxWorkers: request.maxWorkers ?? cpusPerRank(request.limits),
    stopping: stoppingRule(probe.facts.kind, budgetNs),
    timeoutNs: request.timeoutNs,
    signal: AbortSignal.any([signal, deadline, over]),
    onTrial,
  });
  const spentShare = (furtherNs = 0) => ((performance.now() - searchStartedMs) * 1e6 + furtherNs) / budgetNs;
  let isDone = true;
  let error: string | null = null;
  try {
    isDone = await search(trials, spentShare, longestNs / budgetNs);
  } catch (reason) {
    // Keeps the measurements so far.
    if (!(reason instanceof PinbenchError) || trials.tried.length === 0) throw reason;
    error = reason.message;
  }
  const recommendation = recommend(trials);
  const startingScore = trials.find(trials.startingPoint)?.score;
  const searchNs = (performance.now() - searchStartedMs) * 1e6;
  return {
    schemaVersion: 1,
    kind: "tuning",
    tool: { name: "pinbench", version: packageVersion() },
    run: {
      startedAt: request.startedAt.toISOString(),
      wallNs: (performance.now() - request.startedMs) * 1e6,
      searchNs,
      argv: [...request.argv],
      status: statusOf(error === null && recommendation !== null, {
        isAborted: signal.aborted,
        hasEnded: over.reason === jobEnded,
        isTimeUp: (deadline.aborted && !over.aborted) || !isDone,
      }),
      error,
    },
    method: {
      tolerance: trials.options.stopping.tolerance,
      maxWorkers: trials.options.maxWorkers,
      budgetNs,
    },
    machine: { hostname: hostname(), cpuModel: cpuModel(), ...request.limits },
    probe: { ...probeRecord(probe, request.root), checks: checksOf(trials) },
    tried: trials.tried.map(({ setting, score, trials: ofSetting }) => ({
      ...{ setting, trials: ofSetting, score: score && toDocument(score) },
    })),
    skipped: trials.skipped,
    startingScore: startingScore ? toDocument(startingScore) : null,
    recommendation,
  };
}

function statusOf(
  hasResult: boolean,
  { isAborted, hasEnded, isTimeUp }: { isAborted: boolean; hasEnded: boolean; isTimeUp: boolean },
): Tuning["run"]["status"] {
  if (isAborted) return "aborted";
  if (!hasResult) return "failed";
  if (hasEnded) return "ended";
  return isTimeUp ? "budget" : "complete";
}

function probeRecord({ facts }: Probe, root?: string): ProbeRecord {
  const faults = bindingFaults(facts.places ?? [], root);
  return probeSchema.parse(faults.length === 0 ? facts : { ...facts, bindingFaults: faults });
}

export function hasScore({ tried }: Tuning): boolean {
  return tried.some(({ score }) => score !== null);
}

/** The exit code of a finished search. Throws a PinbenchError if it could not continue or found nothing. */
export function tuningExitCode(tuning: Tuning): ExitCode {
  if (tuning.run.error !== null) {
    throw new PinbenchError("measurement", `The search could not go on: ${tuning.run.error}`);
  }
  if (tuning.recommendation === null) throw failureOf(tuning);
  return ExitCode.ok;
}

function failureOf({ tried, skipped, method }: Tuning): PinbenchError {
  const failure = tried.flatMap(({ trials }) => trials.flatMap((trial) => trial.failure ?? []))[0];
  if (failure !== undefined) {
    return new PinbenchError("measurement", `No setting could be measured: ${failure.message}`, {
      ...(failure.hint === null ? {} : { hint: failure.hint }),
      ...(failure.traceback === null ? {} : { cause: new Error(failure.traceback) }),
    });
  }
  if (tried.length === 0 && skipped[0] !== undefined) {
    return new PinbenchError("measurement", `No setting could be measured: ${skipped[0].reason}.`, {
      hint: "Take smaller batches.",
    });
  }
  return new PinbenchError(
    "measurement",
    "No setting could be measured: too few batches arrived within the budget.",
    {
      hint: `Use --budget ${doubled(Math.max(method.budgetNs, usualBudgetNs.alone / 2))}, or smaller batches.`,
    },
  );
}
