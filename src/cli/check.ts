import { ExitCode, PinbenchError } from "../errors.js";
import { repeatInFreshProcesses } from "../measure/repeat.js";
import { blocks, type ComparisonRequest, compare, findSuspects, type ResultSet } from "../regress/compare.js";
import type { Comparison } from "../regress/comparison.js";
import { findDifferences } from "../regress/differences.js";
import { type RunFigures, runFigures } from "../regress/figures.js";
import { readResultSet } from "../regress/result-set.js";
import { jsonReport } from "../report/json.js";
import { counted } from "../report/wording.js";
import { defaultSettings, type RepeatSettings } from "../results/repeat-settings.js";
import { checkReplaceable, replaceRuns } from "../results/run-folder.js";
import { type ComparisonFlags, ruleOf } from "./comparison-options.js";
import { configNote, loadConfig } from "./config.js";
import { comparisonOutputs, deliverComparison } from "./deliver-comparison.js";
import { entry } from "./entry.js";
import { Interruption } from "./interruption.js";
import { ProgressLine } from "./progress-line.js";
import { checkNewFolder } from "./run-folders.js";

export interface CheckFlags extends ComparisonFlags {
  baseline?: string;
  runs?: number;
  update?: boolean;
  accept?: boolean;
  keep?: string;
}

const usualRuns = 5;

/** `pinbench check`: returns the exit code; throws PinbenchError. `override` puts what flags say over the settings of the baseline. */
export async function check(
  flags: CheckFlags,
  override: (settings: RepeatSettings) => RepeatSettings,
  version: string,
): Promise<ExitCode> {
  const config = await loadConfig(flags);
  const path = flags.baseline ?? config.baseline;
  if (path === null) {
    throw new PinbenchError("usage", "there is no baseline to check against.", {
      hint: 'Name it with --baseline PATH, or as "baseline" in the configuration.',
    });
  }
  if (flags.accept && !flags.update) {
    throw new PinbenchError("usage", "--accept says that --update may write a slower baseline.", {
      hint: "Give --update as well.",
    });
  }
  const note = (text: string) => {
    if (!flags.quiet) process.stderr.write(`pinbench: ${text}\n`);
  };
  const outputs = await comparisonOutputs(flags);
  const baseline = await readResultSet(path, "baseline");
  if (flags.update) await checkReplaceable(path);
  if (flags.keep !== undefined) await checkNewFolder(flags.keep, "--keep");
  if (config.path !== null) note(configNote(config.path));

  const interruption = new Interruption();
  const line = new ProgressLine({ quiet: flags.quiet ?? false });
  try {
    const session = new CheckSession(baseline, override(settingsOf(baseline)), line, interruption.signal);
    const runs = flags.runs ?? config.runs ?? usualRuns;
    const request = {
      version,
      command: "check",
      baseline,
      rule: ruleOf(flags, config),
      suspects: [],
      fresh: [],
    } as const;
    const comparison = await session.check(request, runs);
    line.clear();
    if (comparison === null) {
      note("interrupted: nothing was compared, and the baseline is as it was.");
      return interruption.exitCode ?? ExitCode.interrupted;
    }
    if (flags.keep !== undefined) await replaceRuns(flags.keep, session.texts);
    const exitCode = await deliverComparison(comparison, outputs, flags);
    if (flags.update) note(await update(path, session.texts, comparison, flags));
    return exitCode;
  } finally {
    line.clear();
    interruption.dispose();
  }
}

/** The measuring part: first processes, then fresh ones for what looks slower. */
class CheckSession {
  /** The documents of the first processes, as JSON: what --update and --keep write. */
  readonly texts: string[] = [];

  constructor(
    readonly baseline: ResultSet,
    readonly settings: RepeatSettings,
    readonly line: ProgressLine,
    readonly signal: AbortSignal,
  ) {}

  /** Null when it was interrupted. */
  async check(request: Omit<ComparisonRequest, "candidate">, runs: number): Promise<Comparison | null> {
    const cellIds = measuredIds(this.baseline);
    const first: RunFigures[] = [];
    await repeatInFreshProcesses(
      { cellIds, settings: this.settings, runs, entry },
      (document) => {
        this.texts.push(jsonReport(document));
        first.push(runFigures(document, null));
        // The machine will not become another one by measuring on.
        return blocks(findDifferences(this.baseline.runs, first), request.rule) ? "stop" : undefined;
      },
      (run) => this.#show(`run ${run + 1} of ${runs}, ${cellIds.length} cells`),
      this.signal,
    );
    if (this.signal.aborted) return null;
    const measured = { ...request, candidate: { path: null, runs: first } };
    if (blocks(findDifferences(this.baseline.runs, first), request.rule)) return compare(measured);
    const suspects = findSuspects(measured);
    const fresh = await this.#confirm(suspects, cellIds.length, runs);
    return this.signal.aborted ? null : compare({ ...measured, fresh, suspects });
  }

  async #confirm(suspects: readonly string[], allCells: number, runs: number): Promise<RunFigures[]> {
    const fresh: RunFigures[] = [];
    if (suspects.length === 0) return fresh;
    // As much time a cell as before.
    const budgetNs = (this.settings.budgetNs * suspects.length) / allCells;
    await repeatInFreshProcesses(
      { cellIds: suspects, settings: { ...this.settings, budgetNs }, runs, entry },
      (document) => {
        fresh.push(runFigures(document, null));
        return undefined;
      },
      (run) => this.#show(`measuring ${suspects.length} suspect cells again, run ${run + 1} of ${runs}`),
      this.signal,
    );
    return fresh;
  }

  #show(text: string): void {
    this.line.update((columns) => text.slice(0, columns));
  }
}

/** Cells of which the baseline has a figure. */
function measuredIds({ runs }: ResultSet): string[] {
  const cells = runs.flatMap((run) => run.cells.filter(({ figures }) => figures.length > 0));
  return [...new Set(cells.map(({ cell }) => cell.id))];
}

function settingsOf({ runs }: ResultSet): RepeatSettings {
  return runs.find(({ settings }) => settings !== null)?.settings ?? defaultSettings;
}

/** Writes the new baseline where it may, and says what became of it. */
async function update(
  path: string,
  texts: readonly string[],
  { outcome }: Comparison,
  { accept }: CheckFlags,
): Promise<string> {
  if (outcome === "failed") return `${path} was not updated: a measurement failed.`;
  // Measuring has ended with the first run.
  if (outcome === "not comparable") {
    return `${path} was not updated: the machine is another one, and --allow-mismatch was not given.`;
  }
  if (outcome === "regression" && !accept) {
    return `${path} was not updated: a regression stands, and --accept was not given.`;
  }
  await replaceRuns(path, texts);
  return `${path} now holds the ${counted(texts.length, "run")} of this check.`;
}
