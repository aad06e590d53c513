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
  /** End of the nodes' time, on the clock of performance.now(). */
  untilMs: number;
}

export interface FleetProgress {
  done: number;
  nodes: number;
  waitingFor: readonly string[];
  elapsedNs: number;
  /** The nodes' whole time. */
  limitNs: number;
}

const pollMs = 250;

/** How long launchers may outlive their nodes, and a node's files may take to appear on a shared file system. */
const patienceMs = 3000;

/** How long after its deadline a node may still report that it was late. */
const overdueMs = 8000;

/**
 * Starts one process per node, and waits until all nodes or launchers have ended or time is over; then ends the rest.
 * The folder's list has each node's state.
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
   * Runs the fleet and yields its progress. `signal` ends it early, with the results so far. Rejects with an "output"
   * PinbenchError if the folder cannot be written.
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
    const words = launcher === undefined ? "" : lastLines(launcher);
    if (!hasStarted) return row("missing", `it did not start to measure${words}`);
    if (launcher?.endedMs == null) return row("late", "it started, and did not end in time");
    return row("failed", `its process was killed, or the node went down${words}`);
  }

  async #end(wasInterrupted: boolean): Promise<void> {
    await this.#reports.refresh();
    this.#wasInterrupted = wasInterrupted;
    const wereRunning = !this.#launchers.haveEnded;
    // First, because removing the order makes launchers print messages that are not about a node.
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
 * Nodes that have not started: their names, or numbers if only the number of nodes is known. Empty if enough nodes
 * started under other names (addresses or aliases). A name matches with or without its domain.
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

/** Maximum length of a launcher's message. */
const mostCharacters = 300;

/** Lines that explain no failure: srun's lines about its features and its own end. */
const unhelpful =
  /lacks support for cpu binding|Job step aborted|Application launch failed|queued and waiting/;

/** The last lines of a launcher, or how it failed, in parentheses; otherwise empty. */
function lastLines({ stderr, exitCode, endedMs }: LauncherProcess): string {
  const lines = stderr.split("\n").map((line) => line.trim());
  const helpful = lines.filter((line) => line !== "" && !unhelpful.test(line)).slice(-2);
  const words = helpful.join("; ").slice(0, mostCharacters);
  if (words !== "") return ` (${words})`;
  if (endedMs === null || exitCode === 0) return "";
  return exitCode === null
    ? " (its launcher was killed)"
    : ` (its launcher ended with exit code ${exitCode})`;
}
