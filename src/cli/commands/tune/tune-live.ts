import { resolve } from "node:path";
import { listed } from "../../../draw/words.js";
import { ExitCode, PinbenchError } from "../../../errors.js";
import { describeExit, type Exit, shellExitCode } from "../../../host/child.js";
import { describeSetting } from "../../../results/loader-setting.js";
import type { Tuning } from "../../../results/tuning.js";
import type { CommandSettings } from "../../../settings/command-settings.js";
import type { Call } from "../../../settings/settings.js";
import { undecidedBudgetNs } from "../../../settings/tune-settings.js";
import { formatDuration } from "../../../settings/units.js";
import { type LoaderEdit, requireRepeatableInput, startAfresh } from "../../../tune/live/go.js";
import type { LiveJob } from "../../../tune/live/live-job.js";
import type { LiveProbe } from "../../../tune/live/live-probe.js";
import { openLive } from "../../../tune/live/open-live.js";
import { writtenFiles } from "../../../tune/live/written-files.js";
import { machineLimits } from "../../../tune/machine-limits.js";
import { formatRate } from "../../../tune/report/tuning-findings.js";
import { hasScore, tuneLoader, tuningExitCode } from "../../../tune/tune-loader.js";
import { aborted, Interruption, sayNothingMeasured } from "../../interruption.js";
import { deliverToStderr, destinationsOf } from "../../output/document-output.js";
import { noter, reportError } from "../../output/terminal.js";
import { passingSignals } from "../../passed-signals.js";

type TuneFlags = CommandSettings<"tune">;

/**
 * `pinbench tune -- COMMAND`: tries settings in a disposable run of the command; with --go, restarts it with the best.
 * Prints to stderr only, because stdout belongs to the command. Returns the exit code: with --go that of the command.
 * Throws PinbenchError.
 */
export async function tuneLive(flags: TuneFlags, command: readonly string[], call: Call): Promise<ExitCode> {
  const note = noter(flags);
  if (flags.go !== null && flags.deadlineNs !== null) {
    throw new PinbenchError("usage", "--go and --deadline contradict each other.", {
      hint: "With --go the command runs to its own end.",
    });
  }
  if (flags.go !== null) requireRepeatableInput();
  const { format } = await destinationsOf("tuning", flags);
  if (format === "json" && flags.output.length === 0) {
    note("the JSON goes to stderr, with the command's own output: --output FILE.json keeps it by itself.");
  }
  const startedMs = Date.now();
  const found = await search(flags, command, call);
  if (flags.go === null || found.isInterrupted) {
    if (found.error !== null) throw found.error;
    return found.exitCode;
  }
  if (found.error !== null) reportError(found.error);
  if (found.ended !== null) {
    note("the command has ended by itself: it is not started again.");
    return shellExitCode(found.ended) as ExitCode;
  }
  const own = flags.output.map((path) => resolve(path));
  const written = writtenFiles(command, startedMs).filter(({ path }) => !own.includes(resolve(path)));
  if (written.length > 0) note(`the search made or changed ${someOf(written.map(({ path }) => path))}.`);
  const checkpoint = written.find(({ isCheckpoint }) => isCheckpoint);
  if (checkpoint !== undefined && flags.go !== "anyway") {
    note(
      `${checkpoint.path} is a checkpoint that the search wrote, from which the command may go on: it is not started. Remove it, or use --go=anyway.`,
    );
    return ExitCode.regression;
  }
  return go(command, found, note);
}

const mostNames = 5;

function someOf(names: readonly string[]): string {
  const more = names.length - mostNames;
  return more > 0 ? listed([...names.slice(0, mostNames), `${more} more files`]) : listed(names);
}

function announcement({ budgetNs, go }: TuneFlags): string {
  const upTo = formatDuration(budgetNs ?? undecidedBudgetNs);
  const run = `runs your command for up to ${upTo} to try settings`;
  const after =
    go === null
      ? "then ends it. Use --go to start it afresh with the best."
      : "ends it, and then starts it afresh with the best.";
  return `${run}, ${after} What it writes until then is really written.`;
}

/** Passes signals on to the command, and ends with its exit code. */
async function go(
  command: readonly string[],
  { edit }: Found,
  note: (text: string) => void,
): Promise<ExitCode> {
  let starting: ReturnType<typeof startAfresh>;
  const pass = async (signal: NodeJS.Signals) => (await starting).signal(signal);
  return passingSignals(pass, async () => {
    starting = startAfresh(command, edit);
    const run = await starting;
    const how = edit === null ? "the script's own settings" : describeSetting(edit.setting, true);
    note(`the command is started afresh with ${how}.`);
    const { exitCode, isFound } = await run.end();
    if (!isFound && edit !== null) {
      note("the command made no such loader: nothing was changed.");
    }
    // The command may use any of 256 codes.
    return exitCode as ExitCode;
  });
}

interface Found {
  exitCode: ExitCode;
  isInterrupted: boolean;
  /** Why there is no result; null if there is one. */
  error: unknown;
  /** How the command ended by itself; null if pinbench ended it. */
  ended: Exit | null;
  /** The loader with the recommended setting; null if there is none. */
  edit: LoaderEdit | null;
}

async function search(flags: TuneFlags, command: readonly string[], call: Call): Promise<Found> {
  const note = noter(flags);
  const interruption = new Interruption();
  const { signal } = interruption;
  let job: LiveJob | null = null;
  let probe: LiveProbe | null = null;
  const run = async () => {
    const onStart = (started: LiveJob) => {
      job = started;
      note(announcement(flags));
    };
    probe = await openLive({ command, settings: flags, signal, onStart });
    return tryAll(probe, flags, call, signal);
  };
  const over = (part: Partial<Found>): Found => {
    const { exitCode } = interruption;
    const isInterrupted = exitCode !== null;
    const nothing = { error: null, ended: null, edit: null };
    return { ...nothing, exitCode: exitCode ?? ExitCode.ok, isInterrupted, ...part };
  };
  try {
    const found = await run().catch((error: unknown) => ({ error }));
    const started = job as LiveJob | null;
    // A launcher may end before the training that it has started.
    let ended = started?.over.aborted ? started.process.ended : null;
    if ("error" in found) {
      await started?.end();
      if (interruption.exitCode === null) return over({ error: found.error, ended });
      sayNothingMeasured(flags.output);
      return over({});
    }
    if (found.run.status === "ended" && started !== null) {
      // The command may still work after its training: let it finish.
      ended = await Promise.race([started.process.exit, aborted(signal)]);
      if (ended !== null) note(`the command ${describeExit(ended)}.`);
    } else if (interruption.exitCode === null) note("the search is done: the command is ended.");
    await started?.end();
    if (interruption.exitCode !== null && !hasScore(found)) {
      sayNothingMeasured(flags.output);
      return over({});
    }
    await deliverToStderr({ kind: "tuning", document: found }, await destinationsOf("tuning", flags));
    const name = (probe as LiveProbe | null)?.loaderName ?? null;
    const setting = found.recommendation?.setting;
    const result = { ended, edit: name === null || setting === undefined ? null : { name, setting } };
    if (interruption.exitCode !== null) return over(result);
    try {
      return over({ ...result, exitCode: tuningExitCode(found) });
    } catch (error) {
      return over({ ...result, error });
    }
  } finally {
    interruption.dispose();
  }
}

function tryAll(probe: LiveProbe, flags: TuneFlags, call: Call, signal: AbortSignal): Promise<Tuning> {
  const note = noter(flags);
  const { facts, ranksOfNode } = probe;
  const own = facts.startingPoint === null ? "" : `; the script has ${describeSetting(facts.startingPoint)}`;
  note(`tuning ${facts.source}${own}`);
  const request = { ...flags, ...call, limits: machineLimits(ranksOfNode) };
  return tuneLoader(probe, request, signal, (setting, best) => {
    const rate = best && `${formatRate(best.score.batchesPerSecond)} batches/s`;
    const soFar = best && `; best so far: ${describeSetting(best.setting, true)}, ${rate}`;
    note(`trying ${describeSetting(setting, true)}${soFar ?? ""}`);
  });
}
