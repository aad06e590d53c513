import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { packageVersion } from "../../package-facts.js";
import { finalizeNamed } from "../../results/files/store.js";
import {
  type FleetManifest,
  fleetManifestSchema,
  type LaunchedNode,
  manifestName,
} from "../fleet-manifest.js";
import {
  createLaunchFolder,
  type LaunchOrder,
  launchFolderName,
  NodeReports,
  removeLaunchFolder,
} from "./launch-folder.js";
import type { LaunchPlan } from "./launch-plan.js";
import { type LauncherProcess, LauncherProcesses } from "./launcher-processes.js";

/** What to launch, the folder for the results, and the time limit. */
export interface FleetLaunchOptions {
  /** The existing folder for the results. */
  folder: string;
  plan: LaunchPlan;
  order: LaunchOrder;
  /** When the nodes' time is over, on the steady clock (performance.now). */
  untilMs: number;
}

export interface FleetProgress {
  /** Number of nodes that have ended in any way. */
  done: number;
  /** Null while unknown. */
  nodes: number | null;
  /** Nodes that have started and not ended, then those that have not started. */
  waitingFor: readonly string[];
  elapsedNs: number;
  /** From the start to when the nodes' time is over. */
  limitNs: number;
}

const pollMs = 250;

/** How long a node's files may take to become visible over a shared file system, after its launcher has ended. */
const visibleMs = 3000;

/** How long after its deadline a node may still report that it is late. */
const overdueMs = 8000;

/** How long launchers without running nodes may take to end by themselves. */
const lingerMs = 2000;

/**
 * Starts one process per node, and waits until each has ended, or cannot be expected to, or the time is over; then
 * nothing is left running. The folder's list has the state of each node.
 */
export class FleetLaunch {
  readonly #options: FleetLaunchOptions;
  readonly #reports: NodeReports;
  readonly #startedAt = new Date();
  readonly #startedMs = performance.now();
  #hosts: readonly string[] | null;
  #launchers: LauncherProcesses | null = null;

  constructor(options: FleetLaunchOptions) {
    this.#options = options;
    this.#hosts = options.plan.hosts;
    this.#reports = new NodeReports(join(options.folder, launchFolderName));
  }

  /**
   * Runs the fleet and yields its progress now and then; `signal` ends it early, with the results so far. Rejects with
   * an "output" PinbenchError if the folder cannot be written.
   */
  async *run(signal: AbortSignal): AsyncGenerator<FleetProgress, void> {
    const { plan, order, untilMs } = this.#options;
    await createLaunchFolder(this.#reports.folder, order);
    try {
      await this.#writeList(false);
      this.#launchers = new LauncherProcesses(this.#reports.folder);
      for (const { argv, nodes } of plan.launches) this.#launchers.start(argv, nodes);
      while (!signal.aborted && performance.now() < untilMs && !this.#isOver()) {
        yield this.#progress();
        await sleep(pollMs, undefined, { signal }).catch(() => undefined);
        await this.#refresh();
      }
    } finally {
      await this.#end(signal.aborted);
    }
  }

  /** The state of each node. */
  nodes(isFinal = true): LaunchedNode[] {
    const { started, ended } = this.#reports;
    const rows = [...started].map(([name, { host }]): LaunchedNode => {
      const end = ended.get(name);
      if (end !== undefined) return { host, state: end.state, reason: end.reason, file: end.file };
      return { host, ...(isFinal ? this.#withoutEnd(host) : running), file: null };
    });
    const begun = rows.map(({ host }) => host);
    const { absent, strangers } = notHeardOf(this.#hosts ?? [], begun);
    const missing = absent.map((host): LaunchedNode => {
      const state = isFinal ? this.#neverStarted(host, strangers) : running;
      return { host, ...state, file: null };
    });
    return [...rows, ...missing].sort((a, b) => a.host.localeCompare(b.host, "en", { numeric: true }));
  }

  /** The messages of failed launchers, if no node explains the failure, each once. */
  complaints(): string[] {
    const failed = (this.#launchers?.all ?? []).filter(
      ({ nodes, exitCode, endedMs }) => nodes === null && endedMs !== null && exitCode !== 0,
    );
    return [...new Set(failed.map(lastWords).filter((words) => words !== ""))];
  }

  async #refresh(): Promise<void> {
    await this.#reports.refresh();
    if (this.#hosts !== null) return;
    const list = [...this.#reports.started.values()].find(({ slurm }) => slurm?.nodes != null)?.slurm?.nodes;
    if (list == null) return;
    // The list comes from the nodes' scheduler; without it, only the nodes that have started are known.
    this.#hosts = await this.#options.plan.expand(list).catch(() => null);
  }

  #isOver(): boolean {
    const { count } = this.#options.plan;
    const { started, ended } = this.#reports;
    const final = [...started].filter(([name, { host, seenMs }]) => {
      if (ended.has(name)) return true;
      const isOverdue = performance.now() > seenMs + this.#options.order.nodeDeadlineNs / 1e6 + overdueMs;
      return isOverdue || this.#isGone(host);
    });
    const known = new Set([...started.values()].map(({ host }) => host));
    const given = (this.#hosts ?? []).filter((host) => !known.has(host) && this.#isGone(host));
    const expected = this.#hosts?.length ?? count;
    if (expected !== null) return final.length + given.length >= expected || this.#hasFailed();
    return this.#haveEndedLongAgo() && final.length === started.size;
  }

  /** Whether a node's launcher ended so long ago that the node will not start any more. */
  #isGone(host: string): boolean {
    const launcher = this.#launchers?.all.find(({ nodes }) => nodes?.includes(host));
    return launcher !== undefined && hasEndedLongAgo(launcher);
  }

  /** Whether the single launcher has failed. One that ended well may have passed the nodes on. */
  #hasFailed(): boolean {
    const [launcher] = this.#launchers?.all ?? [];
    const isOfAll = launcher !== undefined && launcher.nodes === null;
    return isOfAll && hasEndedLongAgo(launcher) && launcher.exitCode !== 0;
  }

  #haveEndedLongAgo(): boolean {
    return this.#launchers?.all.every(hasEndedLongAgo) ?? true;
  }

  #progress(): FleetProgress {
    const { started, ended } = this.#reports;
    const rows = this.nodes(false);
    const waiting = rows.filter(({ state }) => state === "running").map(({ host }) => host);
    const begun = new Set([...started].flatMap(([name, { host }]) => (ended.has(name) ? [] : [host])));
    return {
      done: rows.length - waiting.length,
      nodes: this.#hosts?.length ?? this.#options.plan.count,
      waitingFor: [
        ...waiting.filter((host) => begun.has(host)),
        ...waiting.filter((host) => !begun.has(host)),
      ],
      elapsedNs: (performance.now() - this.#startedMs) * 1e6,
      limitNs: (this.#options.untilMs - this.#startedMs) * 1e6,
    };
  }

  #withoutEnd(host: string): Pick<LaunchedNode, "state" | "reason"> {
    if (this.#wasInterrupted) return { state: "failed", reason: "the fleet's run was interrupted" };
    const words = this.#wordsOn(host);
    if (this.#isGone(host) || this.#hasFailed()) {
      return { state: "failed", reason: `its process was killed, or the node went down${words}` };
    }
    return { state: "late", reason: "it started, and did not end in time" };
  }

  #neverStarted(host: string, strangers: readonly string[]): Pick<LaunchedNode, "state" | "reason"> {
    if (this.#wasInterrupted) return { state: "missing", reason: "the fleet's run was interrupted" };
    const unless =
      strangers.length === 0 ? "" : `, unless it calls itself ${strangers.slice(0, 3).join(" or ")}`;
    return { state: "missing", reason: `it did not start to measure${unless}${this.#wordsOn(host)}` };
  }

  /** The message of a node's launcher as the end of a sentence; empty without one. */
  #wordsOn(host: string): string {
    const launcher = this.#launchers?.all.find(({ nodes }) => nodes === null || nodes.includes(host));
    const words = launcher === undefined ? "" : lastWords(launcher);
    return words === "" ? "" : ` (${words})`;
  }

  #wasInterrupted = false;

  async #end(wasInterrupted: boolean): Promise<void> {
    const launchers = this.#launchers;
    const untilMs = performance.now() + lingerMs;
    const mayLinger = () =>
      launchers?.haveEnded === false && !wasInterrupted && this.#isOver() && performance.now() < untilMs;
    while (mayLinger()) await sleep(pollMs);
    await this.#refresh();
    this.#wasInterrupted = wasInterrupted;
    const wereRunning = launchers?.haveEnded === false;
    // Before the order is removed, because what launchers print after that is no news of a node.
    await this.#writeList(true);
    const removing = removeLaunchFolder(this.#reports.folder);
    await launchers?.end();
    if (wereRunning) await this.#options.plan.cancel(this.#running());
    await removing;
  }

  #running(): { jobId: string; stepId: string | null }[] {
    const { started, ended } = this.#reports;
    const slurm = [...started].flatMap(([name, start]) => (ended.has(name) ? [] : (start.slurm ?? [])));
    return slurm.map(({ jobId, stepId }) => ({ jobId, stepId }));
  }

  async #writeList(isFinal: boolean): Promise<void> {
    const { folder, plan, order } = this.#options;
    const launchers = this.#launchers?.all ?? [];
    const exitCodes = launchers.flatMap(({ exitCode }) => exitCode ?? []);
    const haveEnded = launchers.length > 0 && exitCodes.length === launchers.length;
    const list: FleetManifest = {
      schemaVersion: 1,
      kind: "fleet-run",
      tool: { name: "pinbench", version: packageVersion() },
      startedAt: this.#startedAt.toISOString(),
      finishedAt: isFinal ? new Date().toISOString() : null,
      deadlineNs: order.nodeDeadlineNs,
      launcher: [...plan.shown],
      launcherExit: haveEnded ? Math.max(...exitCodes) : null,
      nodes: this.nodes(isFinal),
    };
    const text = `${JSON.stringify(fleetManifestSchema.parse(list), null, 2)}\n`;
    await finalizeNamed(join(folder, manifestName), text);
  }
}

/**
 * The requested nodes that have not started, and started ones with other names, which may be addresses or aliases of
 * the former. If there are enough of these, no node counts as absent.
 */
export function notHeardOf(
  asked: readonly string[],
  begun: readonly string[],
): { absent: string[]; strangers: string[] } {
  const [wasAsked, hasBegun] = [isOneOf(asked), isOneOf(begun)];
  const absent = asked.filter((host) => !hasBegun(host));
  const strangers = begun.filter((host) => !wasAsked(host));
  return { absent: absent.length <= strangers.length ? [] : absent, strangers };
}

/** Whether a name is among these, with or without its domain: n01 is n01.example. */
function isOneOf(hosts: readonly string[]): (host: string) => boolean {
  const beginnings = (host: string) =>
    host.split(".").map((_, last, parts) => parts.slice(0, last + 1).join("."));
  const whole = new Set(hosts);
  const begun = new Set(hosts.flatMap(beginnings));
  return (host) => begun.has(host) || beginnings(host).some((beginning) => whole.has(beginning));
}

const running = { state: "running", reason: null } as const;

function hasEndedLongAgo({ endedMs }: LauncherProcess): boolean {
  return endedMs !== null && performance.now() - endedMs > visibleMs;
}

/** Longer messages do not help. */
const mostCharacters = 300;

/** Lines that do not explain a failure: srun's on its abilities and on its own end. */
const idle = /lacks support for cpu binding|Job step aborted|Application launch failed|queued and waiting/;

/** The last lines that explain why a launcher ended, joined; its exit status if it printed nothing. */
function lastWords({ said, exitCode, endedMs }: LauncherProcess): string {
  const lines = said.split("\n").map((line) => line.trim());
  const telling = lines.filter((line) => line !== "" && !idle.test(line)).slice(-2);
  const words = telling.join("; ").slice(0, mostCharacters);
  if (words !== "" || endedMs === null || exitCode === 0) return words;
  return exitCode === null ? "its launcher was killed" : `its launcher ended with exit code ${exitCode}`;
}
