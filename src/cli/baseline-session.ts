import { findDifferences, findLinkLosses } from "../compare/differences.js";
import { describeLinkLosses } from "../compare/report/outcome.js";
import { type RunFigures, runFigures } from "../compare/result-set.js";
import { sensitivityOf } from "../compare/sensitivity.js";
import { groupBySession } from "../compare/sessions.js";
import { jsonReport } from "../draw/json.js";
import { counted, listed } from "../draw/words.js";
import { PinbenchError } from "../errors.js";
import { describeSharing, joinSharing, type SharingRecord } from "../host/other-programs.js";
import { measureInFreshProcesses } from "../measure/fresh-process.js";
import { shareDevicesOfCells } from "../measure/prepare.js";
import { labelsIn } from "../measure/run.js";
import { programPath } from "../package-facts.js";
import { progressLine } from "../report/progress.js";
import { noticeOf } from "../results/device-facts.js";
import { appendRuns, createRuns } from "../results/files/run-folder.js";
import type { ResultDocument } from "../results/schema.js";
import type { CommandSettings } from "../settings/command-settings.js";
import type { Configuration } from "../settings/configuration.js";
import { defaultCheckRuns, type RunSettings } from "../settings/table.js";
import { beginOnDevices } from "./device-turn.js";
import type { Interruption } from "./interruption.js";
import { nowNs, type ProgressLine } from "./output/progress-line.js";
import { noter } from "./output/terminal.js";

export type BaselineFlags = CommandSettings<"baseline">;
export type PrintNote = (text: string) => void;

export class GrowingBaseline {
  readonly folder: string;
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

  async keep(documents: readonly ResultDocument[]): Promise<void> {
    const write = this.size > 0 ? appendRuns : createRuns;
    await write(this.folder, documents.map(jsonReport));
    this.#runs.push(...documents.map((document) => runFigures(document, null)));
  }

  get hasGrown(): boolean {
    return this.size > this.#earlier.length;
  }

  /** The state of the folder if the current session is not kept. */
  whatStays(): string {
    if (this.size === 0) return "no baseline was written";
    return `${this.folder} ${this.hasGrown ? "has the earlier sessions" : "is unchanged"}`;
  }

  /**
   * Throws if this run must not join the others. A run with a failure would become the reference of every check, and
   * one from another machine would increase the baseline's noise.
   */
  checkFits(document: ResultDocument): void {
    const { cells, run } = document;
    const left = this.size === 0 ? "no baseline was written" : `nothing was added to ${this.folder}`;
    const wrong = cells.find(({ outcome }) => outcome === "mismatch");
    if (wrong !== undefined) {
      throw new PinbenchError("wrongData", `${left}: data came back wrong (${wrong.id}).`, {
        hint: "Take the machine out of use, and look for PCIe, ECC and IOMMU errors in the kernel log.",
      });
    }
    const bad = cells.find(({ outcome }) => outcome === "failed");
    if (bad !== undefined || run.status !== "complete") {
      const reason =
        bad === undefined
          ? (run.error?.message ?? `the run is ${run.status}`)
          : `${bad.id}: ${bad.error?.message}`;
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

  /** Refuses a run whose link is slower or faster than in the earlier runs. */
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

  /** Differences from the earlier runs that are allowed: another driver, kernel or host. */
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
    return {
      path: this.folder,
      runs: this.size,
      cells: cells.length,
      sessions: groupBySession(this.#runs).length,
      notice: noticeOf(this.#runs[0]!.backend),
      checkRuns,
      sensitivity: sensitivityOf(this.#runs, checkRuns, thresholds),
    };
  }
}

export interface Watched {
  interruption: Interruption;
  line: ProgressLine;
  note: PrintNote;
}

interface Session extends Watched {
  /** Includes the cells to measure. */
  settings: RunSettings & { cells: readonly string[] };
  /** "session 2 of 4"; empty if there is only one. */
  of: string;
  flags: BaselineFlags;
}

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

/** `reported`: notes on other users of the devices that were printed before. */
async function measureRuns(
  baseline: GrowingBaseline,
  { settings, of, flags, interruption, line, note }: Session,
  reported: readonly SharingRecord[],
): Promise<boolean> {
  const { runs, labels } = flags;
  const { folder } = baseline;
  const cells = counted(settings.cells.length, "cell");
  const documents: ResultDocument[] = [];
  const { signal } = interruption;
  const startedNs = nowNs();
  for await (const event of measureInFreshProcesses(settings, runs, { entry: programPath, signal })) {
    if (event.kind === "start") {
      const text = `run ${event.run + 1} of ${runs}${of === "" ? "" : ` in ${of}`}`;
      const state = { limitNs: null, done: { text, more: cells } };
      line.update((columns) => progressLine({ elapsedNs: nowNs() - startedNs, ...state }, columns));
      continue;
    }
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
  for (const text of newlyShared(documents, reported)) note(text);
  const measured = documents.length;
  if (measured > 0) await baseline.keep(documents);
  // An interruption right after the last run does not matter.
  if (measured >= runs) return true;
  const after = `interrupted after ${measured} of ${runs} runs${of === "" ? "" : ` of ${of}`}`;
  const kept = measured === 0 ? baseline.whatStays() : `${folder} has ${counted(baseline.size, "run")}`;
  const goOn = baseline.hasGrown ? ` ${howToGoOn(folder)}` : "";
  sayEnd(`${after}: ${kept}.${goOn}`);
  return false;
}

/** Notes on other users of the devices in any run, except those in `reported`. */
function newlyShared(documents: readonly ResultDocument[], reported: readonly SharingRecord[]): string[] {
  const known = reported.flatMap(({ others }) => others.map(({ pid }) => pid));
  return joinSharing(documents.map(({ run }) => run.sharing ?? [])).flatMap((record) => {
    const others = record.others.filter(({ pid }) => !known.includes(pid));
    return describeSharing({ ...record, others }).map((text) => `in these runs ${text}.`);
  });
}

export const howToGoOn = (folder: string) => `Go on with \`pinbench baseline ${folder} --append\`.`;

/** Prints even with --quiet, because nothing else shows what an interrupted baseline holds. */
export const sayEnd = noter({ quiet: false });
