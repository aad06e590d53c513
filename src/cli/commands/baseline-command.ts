import { setTimeout as sleep } from "node:timers/promises";
import { baselineReport } from "../../compare/report/baseline-report.js";
import { type RunFigures, readResultSet } from "../../compare/result-set.js";
import { sessionGapNs } from "../../compare/sessions.js";
import { counted } from "../../draw/words.js";
import { ExitCode, PinbenchError } from "../../errors.js";
import { prepareRun } from "../../measure/prepare.js";
import { notesOn } from "../../report/plan-report.js";
import { progressLine } from "../../report/progress.js";
import { checkChangeable, notEmpty } from "../../results/files/run-folder.js";
import { type Configuration, configurationNote, loadConfiguration } from "../../settings/configuration.js";
import type { RunSettings } from "../../settings/table.js";
import { formatDuration } from "../../settings/units.js";
import {
  type BaselineFlags,
  GrowingBaseline,
  howToGoOn,
  measureSession,
  type PrintNote,
  sayEnd,
  type Watched,
} from "../baseline-session.js";
import { settingsOfBaseline } from "../baseline-settings.js";
import { Interruption } from "../interruption.js";
import { makeNewFolder } from "../output/output-paths.js";
import { ProgressLine } from "../output/progress-line.js";
import { stdoutScreen } from "../output/screens.js";
import { noter, writeStdout } from "../output/terminal.js";
import { type Invocation, refuseSearch, requestedFlags, requestedSettings } from "../requested-settings.js";

/**
 * `pinbench baseline`: returns the exit code; throws PinbenchError. After an interruption the finished runs stay. If a
 * run fails, its session is dropped.
 */
export async function baselineCommand(flags: BaselineFlags, invocation: Invocation): Promise<ExitCode> {
  const [folder = ""] = invocation.operands;
  const note = noter(flags);
  refuseIdleEvery(flags, invocation);
  const prepare = flags.append ? prepareAppending : prepareNew;
  const { settings, configuration, earlier } = await prepare(folder, flags, invocation, note);
  const baseline = new GrowingBaseline(folder, earlier);
  const interruption = new Interruption();
  const line = new ProgressLine(flags);
  try {
    for (let session = 1; session <= flags.sessions; ++session) {
      const nextMs = performance.now() + flags.everyNs / 1e6;
      const of = flags.sessions === 1 ? "" : `session ${session} of ${flags.sessions}`;
      const watched = { interruption, line, note };
      const isWhole = await measureSession(baseline, {
        settings,
        of,
        flags,
        ...watched,
      });
      if (!isWhole) return interruption.exitCode ?? ExitCode.interrupted;
      if (session === flags.sessions) break;
      const next = `session ${session + 1} of ${flags.sessions}`;
      await waitUntil(nextMs, next, baseline, watched);
      if (interruption.exitCode === null) continue;
      sayEnd(`interrupted before ${next}: ${folder} has the sessions before it. ${howToGoOn(folder)}`);
      return interruption.exitCode;
    }
  } catch (error) {
    line.clear();
    if (baseline.hasGrown) note(`${folder} has the sessions before the one that failed.`);
    throw error;
  } finally {
    line.clear();
    interruption.dispose();
  }
  await writeStdout(baselineReport(baseline.report(settings, configuration), stdoutScreen()));
  return ExitCode.ok;
}

function refuseIdleEvery({ sessions }: BaselineFlags, { flagKeys }: Invocation): void {
  if (sessions > 1 || !flagKeys.includes("everyNs")) return;
  throw new PinbenchError("usage", "--every needs several sessions, and there is only one.", {
    hint: "Give their number with --sessions.",
  });
}

interface Prepared {
  settings: RunSettings & { cells: readonly string[] };
  configuration: Configuration;
  earlier: readonly RunFigures[];
}

async function prepareNew(
  folder: string,
  flags: BaselineFlags,
  invocation: Invocation,
  note: PrintNote,
): Promise<Prepared> {
  const requested = await requestedSettings(flags, invocation, { isForPrograms: true });
  const { configuration } = requested;
  refuseSearch(requested.settings, "a baseline");
  await makeNewFolder(folder, holdsSomething);
  const prepared = await prepareRun(requested.settings);
  const { plan, backend } = prepared;
  if (configuration.path !== null) note(configurationNote(configuration.path));
  for (const text of notesOn(prepared)) note(text);
  const cells = plan.cells.filter(({ skipReason }) => skipReason === null).map(({ id }) => id);
  const { budgetNs } = plan.stopping;
  return {
    settings: { ...plan.settings, backend: backend.name, cells, budgetNs },
    configuration,
    earlier: [],
  };
}

function holdsSomething(folder: string): PinbenchError {
  return notEmpty(
    folder,
    `Choose a new folder; \`pinbench baseline ${folder} --append\` adds runs to a baseline, ` +
      `and \`pinbench check --baseline ${folder} --update\` replaces it.`,
  );
}

/** Uses the settings of a check of the folder, because the runs will be compared. */
async function prepareAppending(
  folder: string,
  flags: BaselineFlags,
  invocation: Invocation,
  note: PrintNote,
): Promise<Prepared> {
  const configuration = await loadConfiguration(flags);
  const baseline = await readResultSet(folder, "baseline");
  await checkChangeable(folder);
  const settings = await settingsOfBaseline(baseline, requestedFlags(flags, invocation));
  if (configuration.path !== null) note(configurationNote(configuration.path));
  return { settings, configuration, earlier: baseline.runs };
}

/**
 * Waits until `dueMs` on the steady clock (performance.now), with a note. Returns at once if it is past, or on an
 * interruption.
 */
async function waitUntil(
  dueMs: number,
  next: string,
  { folder, size }: GrowingBaseline,
  { interruption, line, note }: Watched,
): Promise<void> {
  const waitMs = dueMs - performance.now();
  const held = `${folder} holds ${counted(size, "run")}`;
  const isSoon = waitMs * 1e6 < sessionGapNs;
  const soon = isSoon
    ? `, less than ${formatDuration(sessionGapNs)} after the end of this one: both count as one session`
    : "";
  if (waitMs <= 0) return note(`${held}; ${next} begins now${soon}.`);
  const due = `${new Date(Date.now() + waitMs).toISOString().slice(11, 19)} UTC`;
  note(`${held}; ${next} begins at ${due}${soon}.`);
  const startedMs = performance.now();
  line.update((columns) => {
    const elapsedNs = (performance.now() - startedMs) * 1e6;
    const done = { text: `waiting for ${next}`, more: `until ${due}` };
    return progressLine({ elapsedNs, limitNs: waitMs * 1e6, done }, columns);
  });
  // Ignores the abort that ends the wait early: nothing is measured after it.
  await sleep(waitMs, undefined, { signal: interruption.signal }).catch(() => undefined);
}
