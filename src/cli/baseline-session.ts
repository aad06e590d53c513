import { findDifferences, findLinkLosses } from "../compare/differences.js";
import { sensitivityOf } from "../compare/evidence/sensitivity.js";
import { countSlowRuns } from "../compare/evidence/uneven-runs.js";
import { groupByOccasion } from "../compare/occasions.js";
import { describeLinkLosses } from "../compare/report/outcome.js";
import { type RunFigures, runFigures } from "../compare/result-set.js";
import { jsonReport } from "../draw/json.js";
import { counted, listed } from "../draw/words.js";
import { PinbenchError } from "../errors.js";
import { measureInFreshProcesses } from "../measure/fresh-process.js";
import { shareDevicesOfCells } from "../measure/prepare.js";
import { SeriesTime } from "../measure/remaining-time.js";
import { labelsIn } from "../measure/run.js";
import { programPath } from "../package-facts.js";
import { progressLine } from "../report/progress.js";
import { noticeOf } from "../results/device-facts.js";
import { appendRuns, createRuns } from "../results/files/run-folder.js";
import { describeSharing, joinSharing, type SharingRecord } from "../results/other-programs.js";
import type { ResultDocument } from "../results/schema.js";
import type { CommandSettings } from "../settings/command-settings.js";
import type { Configuration } from "../settings/configuration.js";
import type { Labels } from "../settings/labels.js";
import { defaultCheckRuns, type RunSettings } from "../settings/table.js";
import { median } from "../stats/order-statistics.js";
import { beginOnDevices } from "./device-turn.js";
import type { Interruption } from "./interruption.js";
import { nowNs, type ProgressLine } from "./output/progress-line.js";
import { noter } from "./output/terminal.js";

/** One session of a baseline: its runs are measured, and added to a folder if they fit. */

export type BaselineFlags = CommandSettings<"baseline">;
export type Note = (text: string) => void;

/** A folder of runs that has more of them after each session. */
export class GrowingBaseline {
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

  /** How many of these documents' runs are far slower than the other runs there are. */
  slowRunsWith(documents: readonly ResultDocument[]): number {
    // Copies to the emulated device are the CPU's own: a slow run of these is its noise.
    if (documents.some(({ backend }) => backend === "emulated")) return 0;
    const session = documents.map((document) => runFigures(document, null));
    return countSlowRuns(session, [...this.#runs, ...session]);
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
    return `${this.folder} ${this.hasGrown ? "has the earlier sessions" : "is unchanged"}`;
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
      const message = `${left}: a measurement failed (${reason}).`;
      throw new PinbenchError("measurement", message, { hint: "`pinbench run` shows the details." });
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

  report({ cells }: { cells: readonly string[] }, { runs, thresholds }: Configuration) {
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

/** What says how a session goes. */
export interface Watched {
  interruption: Interruption;
  line: ProgressLine;
  note: Note;
}

interface Session extends Watched {
  /** With the cells to measure. */
  settings: RunSettings & { cells: readonly string[] };
  /** What a run presumably takes; null if the runs before show it. */
  expectedNs: number | null;
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
export async function measureSession(baseline: GrowingBaseline, session: Session): Promise<boolean> {
  const { settings, flags, interruption } = session;
  const sharing = await shareDevicesOfCells(settings, { command: "baseline", ownerPid: null });
  try {
    await beginOnDevices(sharing, flags, interruption.signal);
    return await measureRuns(baseline, session, sharing?.records ?? []);
  } finally {
    await sharing?.release();
  }
}

/** More runs than this are not measured in place of slow ones, as a machine that is often slow has them again and again. */
const mostReplacements = (runs: number) => Math.ceil(runs / 2);

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
  const atMost = runs + mostReplacements(runs);
  let wanted = runs;
  for await (const event of measureInFreshProcesses(settings, atMost, { entry: programPath, signal })) {
    if (event.kind === "start") {
      if (documents.length === wanted) {
        const slow = baseline.slowRunsWith(documents);
        wanted = Math.min(atMost, runs + slow);
        if (documents.length === wanted) break;
        line.clear();
        note(
          `${counted(slow, "run")} of these ${slow === 1 ? "was" : "were"} far slower than the others: ${counted(wanted - documents.length, "more run")} ${wanted - documents.length === 1 ? "is" : "are"} measured.`,
        );
      }
      time.next(nowNs());
      const done = { text: `run ${event.run + 1} of ${wanted}`, more: cells };
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
  const kept = baseline.size === 0 ? `the baseline has only ${these}` : `${folder} has ${these} as well`;
  if (measured > 0) await baseline.keep(documents);
  // Also where it was interrupted right after the last run.
  if (measured >= runs) return true;
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

/** How to measure the sessions that an interrupted baseline lacks, by their number of runs. */
export function howToGoOn(folder: string, ...lacking: readonly { runs: number; sessions: number }[]): string {
  const commands = lacking
    .filter(({ sessions }) => sessions > 0)
    .map(({ runs, sessions }) => {
      const times = sessions === 1 ? "" : ` --sessions ${sessions}`;
      return `\`pinbench baseline ${folder} --append --runs ${runs}${times}\``;
    });
  return `Go on with ${commands.join(", then ")}.`;
}

/** What an interrupted baseline holds is said whatever --quiet says: it is all that tells of it. */
export const sayEnd = noter({ quiet: false });
