import { setTimeout as sleep } from "node:timers/promises";
import { findDifferences, findLinkLosses } from "../compare/differences.js";
import { groupByOccasion, occasionGapNs } from "../compare/occasions.js";
import { type RunFigures, readResultSet, runFigures } from "../compare/result-set.js";
import { sensitivityOf } from "../compare/sensitivity.js";
import { ExitCode, PinbenchError } from "../errors.js";
import { labelsIn } from "../measure/document.js";
import { measureInFreshProcesses } from "../measure/fresh-process.js";
import { prepareRun, shareDevicesOfCells } from "../measure/prepare.js";
import { SeriesTime } from "../measure/series-time.js";
import { programPath } from "../package-facts.js";
import { baselineReport } from "../report/baseline-report.js";
import { describeLinkLosses } from "../report/comparison/outcome.js";
import { jsonReport } from "../report/json.js";
import { progressLine } from "../report/progress.js";
import { counted, listed } from "../report/wording.js";
import { noticeOf } from "../results/device-facts.js";
import { describeSharing, joinSharing } from "../results/other-programs.js";
import { appendRuns, checkChangeable, createRuns, notEmpty } from "../results/run-folder.js";
import type { ResultDocument } from "../results/schema.js";
import type { SharingRecord } from "../results/sharing-schema.js";
import type { CommandSettings } from "../settings/command-settings.js";
import { type Configuration, configurationNote, loadConfiguration } from "../settings/configuration.js";
import { type Labels, labelsOf } from "../settings/labels.js";
import type { RunSettings } from "../settings/settings.js";
import { defaultCheckRuns } from "../settings/table.js";
import { formatDuration } from "../settings/units.js";
import { median } from "../stats/order-statistics.js";
import { askedSettings, flagsGiven, type Invocation } from "./asked-settings.js";
import { settingsOfBaseline } from "./baseline-settings.js";
import { beginOnDevices } from "./device-turn.js";
import { Interruption } from "./interruption.js";
import { checkNewFolder } from "./output-paths.js";
import { nowNs, ProgressLine } from "./progress-line.js";
import { notesOn } from "./run-command.js";
import { stdoutScreen } from "./screens.js";
import { noter, writeStdout } from "./terminal.js";

type BaselineFlags = CommandSettings<"baseline">;
type Note = (text: string) => void;

/**
 * `pinbench baseline`: returns the exit code; throws PinbenchError. What an interruption leaves are the runs that came
 * to their end; a run that fails costs its session.
 */
export async function baselineCommand(flags: BaselineFlags, invocation: Invocation): Promise<ExitCode> {
  const [folder = ""] = invocation.operands;
  const note = noter(flags);
  refuseIdleEvery(flags, invocation);
  const labels = labelsOf(flags.labels);
  const prepare = flags.append ? prepareAppending : prepareNew;
  const { settings, configuration, earlier, expectedNs } = await prepare(folder, flags, invocation, note);
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
        expectedNs,
        labels,
        session,
        of,
        flags,
        ...watched,
      });
      if (!isWhole) return interruption.exitCode ?? ExitCode.interrupted;
      if (session === flags.sessions) break;
      const next = `session ${session + 1} of ${flags.sessions}`;
      await waitUntil(nextMs, next, baseline, watched);
      if (interruption.exitCode === null) continue;
      const left = { runs: flags.runs, sessions: flags.sessions - session };
      sayEnd(`interrupted before ${next}: ${folder} has the sessions before it. ${howToGoOn(folder, left)}`);
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
  await writeStdout(baselineReport(baseline.report(settings, configuration), stdoutScreen(flags)));
  return ExitCode.ok;
}

function refuseIdleEvery({ sessions }: BaselineFlags, { given }: Invocation): void {
  if (sessions > 1 || !given.includes("everyNs")) return;
  throw new PinbenchError("usage", "--every says how far apart sessions start, and there is only one.", {
    hint: "Say how many with --sessions.",
  });
}

/** What is measured, and what the folder holds already. */
interface Prepared {
  settings: RunSettings & { cells: readonly string[] };
  configuration: Configuration;
  earlier: readonly RunFigures[];
  /** What a run presumably takes; null where that is told by the earlier ones. */
  expectedNs: number | null;
}

async function prepareNew(
  folder: string,
  flags: BaselineFlags,
  invocation: Invocation,
  note: Note,
): Promise<Prepared> {
  const asked = await askedSettings(flags, invocation);
  const { configuration } = asked;
  await checkNewFolder(folder, holdsSomething);
  const prepared = await prepareRun(asked.settings);
  const { plan, backend } = prepared;
  if (configuration.path !== null) note(configurationNote(configuration.path));
  for (const text of notesOn(prepared)) note(text);
  const cells = plan.cells.filter(({ skipReason }) => skipReason === null).map(({ id }) => id);
  const { budgetNs } = plan.stopping;
  return {
    settings: { ...plan.settings, backend: backend.name, cells, budgetNs },
    configuration,
    earlier: [],
    expectedNs: plan.estimate.durationNs,
  };
}

function holdsSomething(folder: string): PinbenchError {
  return notEmpty(
    folder,
    `Choose a new folder; \`pinbench baseline ${folder} --append\` adds runs to a baseline, ` +
      `and \`pinbench check --baseline ${folder} --update\` replaces it.`,
  );
}

/** As a check of the folder measures, for the runs are to be held against each other. */
async function prepareAppending(
  folder: string,
  flags: BaselineFlags,
  invocation: Invocation,
  note: Note,
): Promise<Prepared> {
  const configuration = await loadConfiguration(flags);
  const baseline = await readResultSet(folder, "baseline");
  await checkChangeable(folder);
  const settings = await settingsOfBaseline(baseline, flagsGiven(flags, invocation));
  if (configuration.path !== null) note(configurationNote(configuration.path));
  return { settings, configuration, earlier: baseline.runs, expectedNs: null };
}

/** A folder of runs that has more of them after each session. */
class GrowingBaseline {
  readonly folder: string;
  /** Those that the folder held before, and those that were kept since. */
  readonly #runs: RunFigures[];
  readonly #earlier: readonly RunFigures[];

  constructor(folder: string, earlier: readonly RunFigures[]) {
    this.folder = folder;
    this.#earlier = earlier;
    this.#runs = [...earlier];
  }

  get size(): number {
    return this.#runs.length;
  }

  /** How long a run takes, by those there are; null where none tells. */
  get usualRunNs(): number | null {
    const tookNs = this.#runs.flatMap(({ wallNs }) => wallNs ?? []);
    return tookNs.length === 0 ? null : median(tookNs);
  }

  async keep(documents: readonly ResultDocument[]): Promise<void> {
    const write = this.size > 0 ? appendRuns : createRuns;
    await write(this.folder, documents.map(jsonReport));
    this.#runs.push(...documents.map((document) => runFigures(document, null)));
  }

  get hasGrown(): boolean {
    return this.size > this.#earlier.length;
  }

  /** What becomes of it where the session that is measured now is not kept. */
  whatStays(): string {
    if (this.size === 0) return "no baseline was written";
    return `${this.folder} ${this.hasGrown ? "has the sessions before it" : "is as it was"}`;
  }

  /**
   * Throws where this run must not stand beside the others: one that was measured badly would be what every check is
   * held against, and one of another machine would pass for the spread of this one.
   */
  checkFits(document: ResultDocument): void {
    const { cells, run } = document;
    const bad = cells.find(({ outcome }) => outcome === "failed" || outcome === "mismatch");
    if (bad !== undefined || run.status !== "complete") {
      const reason =
        bad === undefined
          ? (run.error?.message ?? `the run is ${run.status}`)
          : `${bad.id}: ${bad.outcome === "mismatch" ? "the data came back wrong" : bad.error?.message}`;
      const left = this.size === 0 ? "no baseline was written" : `nothing was added to ${this.folder}`;
      const message = `${left}, for a measurement failed (${reason}).`;
      throw new PinbenchError("measurement", message, { hint: "`pinbench run` shows all of it." });
    }
    if (this.#earlier.length === 0) return;
    this.#checkLink(runFigures(document, null));
    const others = this.#differences(document).filter(({ blocks }) => blocks);
    if (others.length === 0) return;
    const facts = others.map(({ fact, baseline, candidate }) => `${fact} ${baseline}, here ${candidate}`);
    throw new PinbenchError(
      "notComparable",
      `${this.folder} was measured on another machine (${listed(facts)}), and nothing was added to it.`,
      { hint: "Make a baseline for this one, in another folder." },
    );
  }

  /** A link that is slower now, or was until now, has a level of its own. */
  #checkLink(run: RunFigures): void {
    const changes = [
      ...describeLinkLosses({ linkLosses: findLinkLosses(this.#earlier, [run]) }),
      ...findLinkLosses([run], this.#earlier).map(
        ({ device }) => `the link of GPU ${device} is faster than in the runs before`,
      ),
    ];
    if (changes.length === 0) return;
    throw new PinbenchError("notComparable", `${listed(changes)}, and nothing was added to ${this.folder}.`, {
      hint: "Find out why with `pinbench doctor`, or make a new baseline.",
    });
  }

  /** What is not as it was in the runs before, though it keeps no run out: a driver, a kernel, another host. */
  changesIn(document: ResultDocument): string[] {
    if (this.#earlier.length === 0) return [];
    return this.#differences(document).map(
      ({ fact, baseline, candidate }) => `${fact} (${baseline} before, ${candidate} now)`,
    );
  }

  #differences(document: ResultDocument) {
    return findDifferences(this.#earlier, [runFigures(document, null)], { allowMismatch: false });
  }

  report({ cells }: Prepared["settings"], { runs, thresholds }: Configuration) {
    const checkRuns = runs ?? defaultCheckRuns;
    const startsMs = this.#runs.map(({ startedAt }) => Date.parse(startedAt));
    return {
      path: this.folder,
      runs: this.size,
      cells: cells.length,
      occasions: groupByOccasion(this.#runs).length,
      // A clock that was set back makes no span negative.
      spanNs: Math.max(0, Date.now() - Math.min(...startsMs)) * 1e6,
      notice: noticeOf(this.#runs[0]!.backend),
      checkRuns,
      sensitivity: sensitivityOf(this.#runs, checkRuns, { thresholds }),
    };
  }
}

interface Watched {
  interruption: Interruption;
  line: ProgressLine;
  note: Note;
}

interface Session extends Watched {
  settings: Prepared["settings"];
  expectedNs: Prepared["expectedNs"];
  labels: Labels;
  /** From 1. */
  session: number;
  /** "session 2 of 4"; empty where there is only one. */
  of: string;
  flags: BaselineFlags;
}

/**
 * Measures the runs of one session, in its turn, and keeps those that came to their end; false where it was interrupted.
 * Between sessions the devices are free for others.
 */
async function measureSession(baseline: GrowingBaseline, session: Session): Promise<boolean> {
  const { settings, flags, interruption } = session;
  const sharing = await shareDevicesOfCells(settings, { command: "baseline", ownerPid: null });
  try {
    await beginOnDevices(sharing, flags, interruption.signal);
    return await measureRuns(baseline, session, sharing?.records ?? []);
  } finally {
    await sharing?.release();
  }
}

/** `told` is what was said already of who else uses the devices. */
async function measureRuns(
  baseline: GrowingBaseline,
  { settings, expectedNs, labels, session, of, flags, interruption, line, note }: Session,
  told: readonly SharingRecord[],
): Promise<boolean> {
  const { runs, sessions } = flags;
  const { folder } = baseline;
  const cells = counted(settings.cells.length, "cell");
  const leftOf = of === "" ? {} : { leftOf: `of ${of}` };
  const documents: ResultDocument[] = [];
  const { signal } = interruption;
  const time = new SeriesTime(runs, baseline.usualRunNs ?? expectedNs);
  for await (const event of measureInFreshProcesses(settings, runs, { entry: programPath, signal })) {
    if (event.kind === "start") {
      time.next(nowNs());
      const done = { text: `run ${event.run + 1} of ${runs}`, more: cells };
      line.update((columns) =>
        progressLine({ leftNs: time.leftNs(nowNs()), ...leftOf, done, now: null, best: null }, columns),
      );
      continue;
    }
    time.finish(nowNs());
    baseline.checkFits(event.document);
    const changes = documents.length === 0 ? baseline.changesIn(event.document) : [];
    if (changes.length > 0) {
      line.clear();
      note(`not as in the runs before: ${listed(changes)}.`);
    }
    const { run } = event.document;
    documents.push({ ...event.document, run: { ...run, ...labelsIn(labels) } });
  }
  line.clear();
  for (const text of newlyShared(documents, told)) note(text);
  const measured = documents.length;
  const stays = baseline.whatStays();
  const these = measured === 1 ? "this one" : "these";
  const kept = baseline.size === 0 ? `the baseline has ${these} alone` : `${folder} has ${these} as well`;
  if (measured > 0) await baseline.keep(documents);
  // Also where it was interrupted right after the last run.
  if (measured === runs) return true;
  const after = `interrupted after ${measured} of ${runs} runs${of === "" ? "" : ` of ${of}`}`;
  const lacking =
    measured === 0
      ? [{ runs, sessions: sessions - session + 1 }]
      : [
          { runs: runs - measured, sessions: 1 },
          { runs, sessions: sessions - session },
        ];
  const goOn = baseline.hasGrown ? ` ${howToGoOn(folder, ...lacking)}` : "";
  sayEnd(`${after}: ${measured === 0 ? stays : kept}.${goOn}`);
  return false;
}

/** Who else used the devices in some run, other than those that `told` has. */
function newlyShared(documents: readonly ResultDocument[], told: readonly SharingRecord[]): string[] {
  const known = told.flatMap(({ others }) => others.map(({ pid }) => pid));
  return joinSharing(documents.map(({ run }) => run.sharing ?? [])).flatMap((record) => {
    const others = record.others.filter(({ pid }) => !known.includes(pid));
    return describeSharing({ ...record, others }).map((text) => `in these runs ${text}.`);
  });
}

/** How to measure what an interrupted baseline lacks: so many sessions of so many runs, and then others. */
function howToGoOn(folder: string, ...lacking: readonly { runs: number; sessions: number }[]): string {
  const commands = lacking
    .filter(({ sessions }) => sessions > 0)
    .map(({ runs, sessions }) => {
      const times = sessions === 1 ? "" : ` --sessions ${sessions}`;
      return `\`pinbench baseline ${folder} --append --runs ${runs}${times}\``;
    });
  return `Go on with ${commands.join(", then ")}.`;
}

/** What an interrupted baseline holds is said whatever --quiet says: it is all that tells of it. */
const sayEnd = noter({ quiet: false });

/** Waits until the next session is due by the steady clock (performance.now), and says so; returns at once where that is past, and on an interruption. */
async function waitUntil(
  dueMs: number,
  next: string,
  { folder, size }: GrowingBaseline,
  { interruption, line, note }: Watched,
): Promise<void> {
  const waitMs = dueMs - performance.now();
  const held = `${folder} holds ${counted(size, "run")}`;
  const isSoon = waitMs * 1e6 < occasionGapNs;
  const soon = isSoon
    ? `, less than ${formatDuration(occasionGapNs)} after the end of this one: both count as one occasion`
    : "";
  if (waitMs <= 0) return note(`${held}; ${next} begins now${soon}.`);
  const due = `${new Date(Date.now() + waitMs).toISOString().slice(11, 19)} UTC`;
  note(`${held}; ${next} begins at ${due}${soon}.`);
  line.update((columns) => {
    const leftNs = (dueMs - performance.now()) * 1e6;
    const done = { text: `waiting until ${due}` };
    return progressLine({ leftNs, leftOf: `until ${next}`, done, now: null, best: null }, columns);
  });
  // An abort ends the waiting, and then measures nothing.
  await sleep(waitMs, undefined, { signal: interruption.signal }).catch(() => undefined);
}
