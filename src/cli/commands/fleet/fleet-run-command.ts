import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import { counted } from "../../../draw/words.js";
import { type ExitCode, exitCodeOf, PinbenchError } from "../../../errors.js";
import type { FleetDocument } from "../../../fleet/fleet-document.js";
import { confirmationFolder, type LaunchedNode } from "../../../fleet/fleet-manifest.js";
import { someOf } from "../../../fleet/fleet-wording.js";
import { judgeResults } from "../../../fleet/judge-results.js";
import { FleetLaunch, type FleetProgress } from "../../../fleet/launch/fleet-launch.js";
import { type LaunchOrder, launchFolderName } from "../../../fleet/launch/launch-folder.js";
import {
  type LaunchPlan,
  nodesPlaceholder,
  plainHost,
  planOfLauncher,
} from "../../../fleet/launch/launch-plan.js";
import { expandNodes, planOfSlurm } from "../../../fleet/launch/slurm-launch.js";
import { programPath } from "../../../package-facts.js";
import { readSiteReference } from "../../../reference/expectation.js";
import { progressLine } from "../../../report/progress.js";
import { notEmpty } from "../../../results/files/run-folder.js";
import { makeFolder } from "../../../results/files/store.js";
import type { CommandSettings } from "../../../settings/command-settings.js";
import { configurationNote } from "../../../settings/configuration.js";
import type { Labels } from "../../../settings/labels.js";
import type { RunSettings } from "../../../settings/table.js";
import { doubled } from "../../../settings/units.js";
import type { Watched } from "../../baseline-session.js";
import { Interruption } from "../../interruption.js";
import { destinationsOf } from "../../output/document-output.js";
import { makeNewFolder } from "../../output/output-paths.js";
import { ProgressLine } from "../../output/progress-line.js";
import { noter } from "../../output/terminal.js";
import { type Invocation, refuseSearch, requestedSettings } from "../../requested-settings.js";
import { deliverFleet } from "./fleet-delivery.js";

type FleetRunFlags = CommandSettings<"fleet run">;

/**
 * Time reserved before the deadline for ending launchers, reading the results and judging them: the smaller of these
 * two.
 */
const mostReserveMs = 15_000;
const reserveShare = 0.25;

const usualDeadlineNs = 300e9;

/** A node's share of the deadline, counted from its own start. The rest is for measuring slow nodes again. */
const nodeShare = 0.5;

/** Time for a node's start and end, on top of its share. */
const nodeMarginNs = 60e9;

/**
 * `pinbench fleet run`: starts one process per node, waits for them within the deadline, and prints the report of
 * `pinbench fleet` on the folder. Returns its exit code, or that of a signal; throws PinbenchError.
 */
export async function fleetRunCommand(flags: FleetRunFlags, invocation: Invocation): Promise<ExitCode> {
  const note = noter(flags);
  const { folder, nodes } = requiredFlags(flags);
  refuseNodeLabel(flags.labels);
  const outputs = await destinationsOf("fleet", { ...flags, output: [] });
  if (flags.reference !== null) await readSiteReference(flags.reference);
  const { settings, configuration } = await requestedSettings(flags, invocation, { isForPrograms: true });
  refuseSearch(settings, "fleet run");
  if (configuration.path !== null) note(configurationNote(configuration.path));
  await makeNewFolder(folder, () => notEmpty(folder, "Choose a new folder: results of two runs would mix."));
  const deadlineNs = flags.deadlineNs ?? usualDeadlineNs;
  const order: LaunchOrder = {
    schemaVersion: 1,
    settings: withPreset(settings),
    labels: flags.labels,
    nodeDeadlineNs: deadlineNs * nodeShare,
  };
  const planFor = await planner(flags, nodes, order);
  const plan = await planFor(folder, null);
  const endMs = deadlineNs / 1e6;
  const untilMs = endMs - Math.min(mostReserveMs, endMs * reserveShare);

  const interruption = new Interruption();
  const watched = { interruption, line: new ProgressLine(flags), note };
  try {
    await launch({ folder, plan, order, untilMs }, watched, "");
    if (interruption.exitCode !== null) {
      note(`interrupted: ${folder} has the figures measured before that.`);
      return interruption.exitCode;
    }
    const first = await judgeResults([folder], flags);
    const fleet = await confirmed(first, { folder, planFor, order, untilMs }, flags, watched);
    const code = await deliverFleet(fleet, outputs, flags);
    return exitCodeOf(interruption.exitCode, code);
  } finally {
    watched.line.clear();
    interruption.dispose();
  }
}

interface ConfirmationOrder {
  folder: string;
  planFor: Planner;
  order: LaunchOrder;
  untilMs: number;
}

/** Returns the first report if measuring again fails. */
async function confirmed(
  fleet: FleetDocument,
  { folder, planFor, order, untilMs }: ConfirmationOrder,
  flags: FleetRunFlags,
  watched: Watched,
): Promise<FleetDocument> {
  if (fleet.suspects.length === 0) return fleet;
  if (flags.launcher !== null && !flags.launcher.includes(nodesPlaceholder)) {
    watched.note(
      `not measured again, because --launcher has no ${nodesPlaceholder} for their names: ${someOf(fleet.suspects)}.`,
    );
    return fleet;
  }
  // Host names go into a launcher's shell command, and nodes may report any name.
  const named = fleet.suspects.filter((host) => plainHost.test(host));
  const others = fleet.suspects.filter((host) => !plainHost.test(host));
  if (others.length > 0)
    watched.note(`not measured again, because it is not a host name: ${someOf(others)}.`);
  if (named.length === 0) return fleet;
  const leftNs = (untilMs - performance.now()) * 1e6;
  const measured = fleet.nodes.find(({ host, wallNs }) => named.includes(host) && wallNs !== null);
  if (leftNs < (measured?.wallNs ?? 0)) {
    const longer = doubled(flags.deadlineNs ?? usualDeadlineNs);
    watched.note(`no time is left to measure ${someOf(named)} again: use --deadline ${longer}.`);
    return fleet;
  }
  const freshFolder = join(folder, confirmationFolder);
  watched.note(`measuring again on ${someOf(named)}, which may be slow.`);
  try {
    const plan = await planFor(freshFolder, named);
    await makeFolder(freshFolder);
    await launch({ folder: freshFolder, plan, order, untilMs }, watched, " again");
  } catch (error) {
    if (!(error instanceof PinbenchError)) throw error;
    watched.note(`not measured again: ${error.message}`);
    return fleet;
  }
  return judgeResults([folder], flags);
}

async function launch(
  options: ConstructorParameters<typeof FleetLaunch>[0],
  { interruption, line, note }: Watched,
  again: string,
): Promise<void> {
  const fleet = new FleetLaunch(options);
  for await (const progress of fleet.run(interruption.signal)) {
    line.update((columns) => progressLine(stateOf(progress, again), columns));
  }
  line.clear();
  const rows = fleet.nodes();
  const measured = rows.filter(({ state }) => state === "measured").length;
  note(`${measured} of ${counted(rows.length, "node")} measured${again}${others(rows)}.`);
}

/** ", 1 failed, 2 missing"; empty if all nodes have results. */
function others(rows: readonly LaunchedNode[]): string {
  const states = ["failed", "wrong data", "late", "missing"] as const;
  const words = { failed: "failed", "wrong data": "with wrong data", late: "late", missing: "missing" };
  return states
    .map((state) => [rows.filter((row) => row.state === state).length, words[state]] as const)
    .filter(([count]) => count > 0)
    .map(([count, word]) => `, ${count} ${word}`)
    .join("");
}

const mostNamed = 4;

function stateOf({ done, nodes, waitingFor, elapsedNs, limitNs }: FleetProgress, again: string) {
  const named = waitingFor.slice(0, mostNamed).join(" ");
  const more = waitingFor.length > mostNamed ? `and ${waitingFor.length - mostNamed} more` : undefined;
  return {
    elapsedNs,
    limitNs,
    done: { text: `${done} of ${counted(nodes, "node")}${again}` },
    now: named === "" ? null : { text: `waiting for ${named}`, ...(more !== undefined && { more }) },
  };
}

function requiredFlags({ folder, nodes }: FleetRunFlags): { folder: string; nodes: number | string } {
  if (folder === null) {
    throw new PinbenchError("usage", "--output is missing: the folder for the nodes' results.", {
      hint: "Name a new folder that all nodes share, such as --output fleet.",
    });
  }
  if (nodes === null) {
    throw new PinbenchError("usage", "--nodes is missing: the nodes to measure on.", {
      hint: "Write --nodes 4, or --nodes n[01-04].",
    });
  }
  if (!/^\d+$/.test(nodes)) return { folder, nodes };
  const count = Number(nodes);
  if (count >= 1 && count <= 100_000) return { folder, nodes: count };
  throw new PinbenchError("usage", `--nodes ${nodes} is not a number of nodes: it must be from 1 to 100000.`);
}

/** The label "node" is reserved: it identifies a node's result. */
function refuseNodeLabel(labels: Labels): void {
  if (!("node" in labels)) return;
  throw new PinbenchError("usage", "--label node=… is set by fleet run itself.", {
    hint: "Choose another key.",
  });
}

function withPreset(settings: RunSettings): RunSettings {
  if (settings.preset !== null || settings.cells !== null) return settings;
  return { ...settings, preset: "fleet" };
}

type Planner = (folder: string, hosts: readonly string[] | null) => Promise<LaunchPlan>;

async function planner(
  flags: FleetRunFlags,
  nodes: number | string,
  { nodeDeadlineNs }: LaunchOrder,
): Promise<Planner> {
  const { launcher } = flags;
  const program = flags.pinbench?.trim().split(/\s+/) ?? [process.execPath, programPath];
  const commandFor = (folder: string) => [...program, "fleet-node", join(resolve(folder), launchFolderName)];
  if (launcher !== null) {
    const named = typeof nodes === "string" ? await expandNodes(nodes) : null;
    return async (folder, again) => {
      const hosts = again ?? named;
      return planOfLauncher(launcher, commandFor(folder), { hosts, count: hosts?.length ?? Number(nodes) });
    };
  }
  const name = `pinbench-fleet-${randomUUID().slice(0, 8)}`;
  return (folder, hosts) =>
    planOfSlurm(
      {
        nodes: hosts?.join(",") ?? nodes,
        command: commandFor(folder),
        name,
        nodeNs: nodeDeadlineNs + nodeMarginNs,
      },
      process.env,
    );
}
