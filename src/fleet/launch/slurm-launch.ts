import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { errorCode, PinbenchError } from "../../errors.js";
import { type LaunchPlan, plainHost } from "./launch-plan.js";

/* All knowledge about Slurm: programs, flags and environment. Tested with 22.05. */

export interface SlurmRequest {
  nodes: number | string;
  command: readonly string[];
  /** Name of the jobs outside an allocation: letters, digits and dashes. */
  name: string;
  /** Time limit of a node, including start and end. */
  nodeNs: number;
}

/**
 * Maximum number of sruns. With as many nodes or fewer, each node has its own; otherwise they share. In a common step,
 * one node that does not answer fails all ("Application launch failed", "Job step aborted"). In a common job, all wait
 * for a busy or failed node ("Required node not available").
 */
const mostSruns = 128;

const call = promisify(execFile);

/** Time limit for a call of Slurm's programs, so that a hanging one does not delay the others. */
const callMs = 10_000;

/**
 * Expands a Slurm node list such as n[01-04,07]; without brackets this needs no Slurm. Rejects with a usage error for
 * an invalid list.
 */
export async function expandNodes(list: string): Promise<string[]> {
  const hosts = list.includes("[") ? await askSlurm(list) : list.split(",").map((host) => host.trim());
  const odd = hosts.find((host) => !plainHost.test(host));
  if (odd !== undefined) {
    throw new PinbenchError("usage", `"${odd}" is not the name of a node.`, {
      hint: "Write --nodes 4, or --nodes n01,n02, or with Slurm --nodes n[01-04].",
    });
  }
  return [...new Set(hosts)];
}

async function askSlurm(list: string): Promise<string[]> {
  try {
    const { stdout } = await call("scontrol", ["show", "hostnames", list], { timeout: callMs });
    return stdout.split("\n").filter((line) => line !== "");
  } catch (cause) {
    const message = `Slurm's scontrol does not expand the list of nodes "${list}".`;
    throw new PinbenchError("usage", message, { hint: "Write the nodes with commas: n01,n02.", cause });
  }
}

/**
 * The plan with Slurm: steps inside an allocation, otherwise jobs. Rejects with a PinbenchError without Slurm, or if
 * the allocation is too small.
 */
export async function planOfSlurm(request: SlurmRequest, env: NodeJS.ProcessEnv): Promise<LaunchPlan> {
  await checkSlurm();
  const isInAllocation = env.SLURM_JOB_ID !== undefined;
  const { nodes } = request;
  const allocated = isInAllocation ? await expandNodes(env.SLURM_JOB_NODELIST ?? "") : null;
  if (typeof nodes === "number" && allocated !== null && nodes > allocated.length) {
    throw new PinbenchError(
      "usage",
      `--nodes ${nodes} is more than the ${allocated.length} nodes of this allocation.`,
      { hint: "Ask for fewer, or allocate more." },
    );
  }
  const hosts = typeof nodes === "string" ? await expandNodes(nodes) : (allocated?.slice(0, nodes) ?? null);
  return {
    ...launchesOf(request, hosts, isInAllocation),
    // Inside an allocation srun ends its own step, and the job is the user's.
    cancel: async () => (isInAllocation ? undefined : cancel(request.name)),
  };
}

/** Arguments of each srun; `hosts` is null if Slurm chooses the nodes. */
export function launchesOf(
  request: SlurmRequest,
  hosts: readonly string[] | null,
  isInAllocation: boolean,
): Pick<LaunchPlan, "launches" | "hosts" | "count"> {
  const flags = sharedFlags(request, isInAllocation);
  if (hosts === null) {
    const argv = ["srun", ...flags, `--nodes=${request.nodes}`, ...request.command];
    return { launches: [{ argv, nodes: null }], hosts, count: Number(request.nodes) };
  }
  const srun = (nodes: readonly string[]) => [
    "srun",
    ...flags,
    `--nodelist=${nodes.join(",")}`,
    `--nodes=${nodes.length}`,
    `--ntasks=${nodes.length}`,
    ...request.command,
  ];
  return {
    launches: inGroups(hosts).map((nodes) => ({ argv: srun(nodes), nodes })),
    hosts,
    count: hosts.length,
  };
}

function sharedFlags({ name, nodeNs }: SlurmRequest, isInAllocation: boolean): string[] {
  // Jobs get whole nodes, so that others do not disturb them. Steps in an allocation overlap, so that they do not wait
  // for each other's CPUs.
  const ofJob = isInAllocation ? ["--overlap"] : ["--exclusive", "--mem=0", "--no-kill"];
  return [
    `--job-name=${name}`,
    ...ofJob,
    "--ntasks-per-node=1",
    // One node's failure must not end the others of its srun.
    "--kill-on-bad-exit=0",
    "--wait=0",
    // pinbench itself chooses the CPUs of a GPU's NUMA node.
    "--cpu-bind=none",
    "--input=none",
    // Slurm's limit is in whole minutes; it kills what still runs.
    `--time=${Math.ceil(nodeNs / 60e9)}`,
  ];
}

function inGroups(hosts: readonly string[]): string[][] {
  const size = Math.ceil(hosts.length / mostSruns);
  return Array.from({ length: Math.ceil(hosts.length / size) }, (_, i) =>
    hosts.slice(i * size, (i + 1) * size),
  );
}

async function checkSlurm(): Promise<void> {
  try {
    await call("srun", ["--version"], { timeout: callMs });
  } catch (cause) {
    if (errorCode(cause) !== "ENOENT") return;
    throw new PinbenchError("unavailable", "there is no srun here to start the nodes with.", {
      hint: "Name another program that starts one process a node, such as --launcher 'mpirun --map-by ppr:1:node'.",
      cause,
    });
  }
}

/** Cancels all jobs with this name, also waiting ones. Ignores errors, because none may be left. */
async function cancel(name: string): Promise<void> {
  await call("scancel", ["--quiet", `--name=${name}`], { timeout: callMs }).catch(() => undefined);
}
