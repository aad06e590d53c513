import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { errorCode, PinbenchError } from "../../errors.js";
import { type LaunchPlan, nodesPlaceholder, plainHost } from "./launch-plan.js";

/*
 * The only file with knowledge of Slurm: its programs, flags and environment. Tested with 22.05.
 */

export interface SlurmRequest {
  /** The number of nodes, or their names. */
  nodes: number | string;
  /** Further flags of srun, one word each. */
  options: readonly string[];
  /** The command for a node. */
  command: readonly string[];
  /** Name of the jobs, without an allocation: letters, digits and dashes. */
  name: string;
  /** Longest time of a node, including start and end. */
  nodeNs: number;
}

/**
 * Up to this many nodes, each has its own srun; beyond, an srun has several nodes. In one step for all, a node that
 * does not answer takes the others with it ("Application launch failed", "Job step aborted"). In one job for all, they
 * wait for a node that is down or busy ("Required node not available").
 */
const mostSruns = 128;

const call = promisify(execFile);

/** Longest time for a call of Slurm's programs, so that it cannot delay the others. */
const callMs = 10_000;

/**
 * The nodes in a list of Slurm, such as n[01-04,07]; without brackets this needs no Slurm. Rejects with a usage error
 * for an invalid list.
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

/** Largest output of Slurm on its nodes, about 1 kB each. */
const mostBytes = 256 * 1024 ** 2;

/**
 * The names of all nodes in Slurm; null without Slurm, or if it does not answer. Names for several nodes are left out:
 * a NodeSet of slurm.conf must not have a node's name.
 */
export async function slurmNodes(): Promise<ReadonlySet<string> | null> {
  try {
    const args = ["--oneliner", "--all", "show", "node"];
    const { stdout } = await call("scontrol", args, { timeout: callMs, maxBuffer: mostBytes });
    return new Set([...stdout.matchAll(/^NodeName=(\S+)/gm)].map(([, name]) => name!));
  } catch {
    return null;
  }
}

async function askSlurm(list: string): Promise<string[]> {
  try {
    const { stdout } = await call("scontrol", ["show", "hostnames", list], { timeout: callMs });
    return stdout.split("\n").filter((line) => line !== "");
  } catch (cause) {
    const isMissing = errorCode(cause) === "ENOENT";
    const message = isMissing
      ? `"${list}" is a list of Slurm, and there is no scontrol here to expand it.`
      : `Slurm does not understand the list of nodes "${list}".`;
    const hint = isMissing ? "Write the nodes with commas: n01,n02." : "Write for example --nodes n[01-04].";
    throw new PinbenchError("usage", message, { hint, cause });
  }
}

/**
 * The plan with Slurm: steps inside an allocation, otherwise jobs. Rejects with a PinbenchError if there is no Slurm,
 * or it does not know the nodes.
 */
export async function planOfSlurm(request: SlurmRequest, env: NodeJS.ProcessEnv): Promise<LaunchPlan> {
  await checkSlurm();
  const jobId = env.SLURM_JOB_ID;
  const allocated = jobId === undefined ? null : await expandNodes(env.SLURM_JOB_NODELIST ?? "");
  const hosts = await hostsOf(request.nodes, allocated);
  const isInAllocation = jobId !== undefined;
  return {
    ...launchesOf(request, hosts, isInAllocation),
    expand: expandNodes,
    cancel: (running) => cancel(cancellationsOf(running, request, isInAllocation)),
  };
}

/** The calls of srun; `hosts` is null if Slurm chooses the nodes. */
export function launchesOf(
  request: SlurmRequest,
  hosts: readonly string[] | null,
  isInAllocation: boolean,
): Pick<LaunchPlan, "launches" | "shown" | "hosts" | "count"> {
  const flags = sharedFlags(request, isInAllocation);
  if (hosts === null) {
    const argv = ["srun", ...flags, `--nodes=${request.nodes}`, ...request.command];
    return { launches: [{ argv, nodes: null }], shown: argv, hosts, count: Number(request.nodes) };
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
    shown: ["srun", ...flags, `--nodelist=${nodesPlaceholder}`, ...request.command],
    hosts,
    count: hosts.length,
  };
}

/** The requested nodes; null if Slurm chooses them. */
async function hostsOf(
  nodes: SlurmRequest["nodes"],
  allocated: readonly string[] | null,
): Promise<readonly string[] | null> {
  if (typeof nodes === "number") {
    if (allocated === null) return null;
    if (nodes <= allocated.length) return allocated.slice(0, nodes);
    throw new PinbenchError(
      "usage",
      `--nodes ${nodes} is more than the ${allocated.length} nodes of this allocation.`,
      { hint: "Ask for fewer, or allocate more." },
    );
  }
  const hosts = await expandNodes(nodes);
  const foreign = hosts.filter((host) => allocated !== null && !allocated.includes(host));
  if (foreign.length === 0) return hosts;
  throw new PinbenchError("usage", `${foreign.join(", ")} is not among the nodes of this allocation.`, {
    hint: "Leave it out, or start from outside of the allocation.",
  });
}

function sharedFlags({ options, name, nodeNs }: SlurmRequest, isInAllocation: boolean): string[] {
  // Whole nodes, because other jobs would disturb the measurement. In an allocation, steps must not wait for each
  // other's CPUs.
  const ofJob = isInAllocation ? ["--overlap"] : ["--exclusive", "--mem=0", "--no-kill"];
  return [
    `--job-name=${name}`,
    ...ofJob,
    "--ntasks-per-node=1",
    // One node's failure must not end the others in the same srun.
    "--kill-on-bad-exit=0",
    "--wait=0",
    // pinbench itself chooses the CPUs of a GPU's NUMA node.
    "--cpu-bind=none",
    "--input=none",
    // Slurm counts in minutes, and kills what is still running then.
    `--time=${Math.ceil(nodeNs / 60e9)}`,
    ...options,
  ];
}

/** At most `mostSruns` groups of about the same size. */
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

/**
 * The arguments of each call of scancel: steps by their ids; outside of an allocation all jobs of the name, including
 * waiting ones. Inside, the only job is the allocation, which belongs to the user.
 */
export function cancellationsOf(
  running: readonly { jobId: string; stepId: string | null }[],
  { name }: Pick<SlurmRequest, "name">,
  isInAllocation: boolean,
): string[][] {
  const steps = running.flatMap(({ jobId, stepId }) => (stepId === null ? [] : [`${jobId}.${stepId}`]));
  return [...(steps.length > 0 ? [steps] : []), ...(isInAllocation ? [] : [[`--name=${name}`]])];
}

async function cancel(calls: readonly (readonly string[])[]): Promise<void> {
  // Cancelling a finished one fails, which is no error.
  await Promise.allSettled(calls.map((args) => call("scancel", ["--quiet", ...args], { timeout: callMs })));
}
