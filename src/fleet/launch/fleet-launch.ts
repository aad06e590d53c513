import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
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

interface FleetLaunchOptions {
  folder: string;
  plan: LaunchPlan;
  order: LaunchOrder;
  /** When the nodes' time is over, on the steady clock (performance.now). */
  untilMs: number;
}

export interface FleetProgress {
  done: number;
  nodes: number;
  waitingFor: readonly string[];
  elapsedNs: number;
  /** From the start to when the nodes' time is over. */
  limitNs: number;
}

const pollMs = 250;

/**
 * How long launchers may take to end after all of their nodes, and a node's files to become visible over a shared file
 * system after its launcher has ended.
 */
const patienceMs = 3000;

/** How long after its deadline a node may still report that it is late. */
const overdueMs = 8000;

/**
 * Starts one process per node, and waits until all nodes or all launchers have ended, or the time is over; then nothing
 * is left running. The folder's list has the state of each node.
 */
export class FleetLaunch {
  readonly #options: FleetLaunchOptions;
  readonly #reports: NodeReports;
  #launchers!: LauncherProcesses;
  readonly #startedAt = new Date();
  readonly #startedMs = performance.now();
  #doneMs: number | null = null;
  #wasInterrupted = false;

  constructor(options: FleetLaunchOptions) {
    this.#options = options;
    this.#reports = new NodeReports(join(options.folder, launchFolderName));
  }

  /**
   * Runs the fleet and yields its progress now and then; `signal` ends it early, with the results so far. Rejects with
   * an "output" PinbenchError if the folder cannot be written.
   */
  async *run(signal: AbortSignal): AsyncGenerator<FleetProgress, void> {
    const { plan, order, untilMs } = this.#options;
    await createLaunchFolder(this.#reports.folder, order);
    this.#launchers = new LauncherProcesses(this.#reports.folder);
    try {
      await this.#writeList(false);
      for (const { argv, nodes } of plan.launches) this.#launchers.start(argv, nodes);
      while (!signal.aborted && performance.now() < untilMs && !this.#isOver()) {
        yield this.#progress();
        await sleep(pollMs, undefined, { signal }).catch(() => undefined);
        await this.#reports.refresh();
      }
    } finally {
      await this.#end(signal.aborted);
    }
  }

  nodes(isFinal = true): LaunchedNode[] {
    const { started, ended } = this.#reports;
    const { hosts, count } = this.#options.plan;
    const rows = [...started].map(([name, { host }]): LaunchedNode => {
      const end = ended.get(name);
      if (end === undefined) return isFinal ? this.#unended(host, true) : { host, ...running };
      return { host, state: end.state, reason: end.reason, file: end.file };
    });
    const begun = rows.map(({ host }) => host);
    const absent = absentHosts(hosts, begun, count).map((host) =>
      isFinal ? this.#unended(host, false) : { host, ...running },
    );
    return [...rows, ...absent].sort((a, b) => a.host.localeCompare(b.host, "en", { numeric: true }));
  }

  #isOver(): boolean {
    const { started, ended } = this.#reports;
    const { all, haveEnded } = this.#launchers;
    const now = performance.now();
    const latestMs = this.#options.order.nodeDeadlineNs / 1e6 + overdueMs;
    const over = [...started].filter(([name, { foundMs }]) => ended.has(name) || now > foundMs + latestMs);
    if (over.length >= this.#options.plan.count) this.#doneMs ??= now;
    if (this.#doneMs !== null) return haveEnded || now > this.#doneMs + patienceMs;
    return all.every(({ endedMs }) => endedMs !== null && now > endedMs + patienceMs);
  }

  #progress(): FleetProgress {
    const rows = this.nodes(false);
    const waitingFor = rows.filter(({ state }) => state === "running").map(({ host }) => host);
    return {
      done: rows.length - waitingFor.length,
      nodes: this.#options.plan.count,
      waitingFor,
      elapsedNs: (performance.now() - this.#startedMs) * 1e6,
      limitNs: (this.#options.untilMs - this.#startedMs) * 1e6,
    };
  }

  #unended(host: string, hasStarted: boolean): LaunchedNode {
    const row = (state: LaunchedNode["state"], reason: string) => ({ host, state, reason, file: null });
    if (this.#wasInterrupted) return row("missing", "the fleet's run was interrupted");
    const launcher = this.#launchers.all.find(({ nodes }) => nodes === null || nodes.includes(host));
    const words = launcher === undefined ? "" : lastWords(launcher);
    if (!hasStarted) return row("missing", `it did not start to measure${words}`);
    if (launcher?.endedMs == null) return row("late", "it started, and did not end in time");
    return row("failed", `its process was killed, or the node went down${words}`);
  }

  async #end(wasInterrupted: boolean): Promise<void> {
    await this.#reports.refresh();
    this.#wasInterrupted = wasInterrupted;
    const wereRunning = !this.#launchers.haveEnded;
    // Before the order is removed, because what launchers print after that is no news of a node.
    try {
      await this.#writeList(true);
    } finally {
      const removing = removeLaunchFolder(this.#reports.folder);
      await this.#launchers.end();
      if (wereRunning) await this.#options.plan.cancel();
      await removing;
    }
  }

  async #writeList(isFinal: boolean): Promise<void> {
    const list: FleetManifest = {
      schemaVersion: 1,
      kind: "fleet-run",
      startedAt: this.#startedAt.toISOString(),
      finishedAt: isFinal ? new Date().toISOString() : null,
      nodes: this.nodes(isFinal),
    };
    const text = `${JSON.stringify(fleetManifestSchema.parse(list), null, 2)}\n`;
    await finalizeNamed(join(this.#options.folder, manifestName), text);
  }
}

const running = { state: "running", reason: null, file: null } as const;

/**
 * The nodes that have not started, by their names or, if only their number is known, by numbers; none if as many have
 * started under other names, which may be addresses or aliases. A name counts with or without its domain.
 */
export function absentHosts(
  hosts: readonly string[] | null,
  begun: readonly string[],
  count: number,
): string[] {
  const absent = Math.max(0, count - begun.length);
  if (absent === 0) return [];
  if (hosts === null) return Array.from({ length: absent }, (_, i) => `unnamed node ${begun.length + i + 1}`);
  const shortOf = (host: string) => host.split(".", 1)[0]!;
  const [names, short] = [new Set(begun), new Set(begun.map(shortOf))];
  return hosts.filter((host) => !names.has(host) && !names.has(shortOf(host)) && !short.has(host));
}

/** Longer messages do not help. */
const mostCharacters = 300;

/** Lines that do not explain a failure: srun's on its abilities and on its own end. */
const idle = /lacks support for cpu binding|Job step aborted|Application launch failed|queued and waiting/;

/** The last lines that a launcher printed, or how it ended, in parentheses; empty without. */
function lastWords({ stderr, exitCode, endedMs }: LauncherProcess): string {
  const lines = stderr.split("\n").map((line) => line.trim());
  const telling = lines.filter((line) => line !== "" && !idle.test(line)).slice(-2);
  const words = telling.join("; ").slice(0, mostCharacters);
  if (words !== "") return ` (${words})`;
  if (endedMs === null || exitCode === 0) return "";
  return exitCode === null
    ? " (its launcher was killed)"
    : ` (its launcher ended with exit code ${exitCode})`;
}
