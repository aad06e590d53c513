import { PinbenchError } from "../../errors.js";

/** How the processes on the nodes are started, and how they are ended where their launcher does not. */
export interface LaunchPlan {
  launches: readonly {
    argv: readonly string[];
    /** The nodes that it starts, where each launch has its own; null where it starts all. */
    nodes: readonly string[] | null;
  }[];
  /** The command as a user would write it, `{nodes}` in the place of the nodes where there are several launches. */
  shown: readonly string[];
  /** The nodes; null where only whoever starts them knows. */
  hosts: readonly string[] | null;
  /** How many nodes there are to be; null where nobody said. */
  count: number | null;
  /** The nodes of a list as the scheduler writes it. */
  expand(list: string): Promise<readonly string[]>;
  /** Ends what still runs on nodes, where somebody else than the launcher can; never rejects. */
  cancel(running: readonly { jobId: string; stepId: string | null }[]): Promise<void>;
}

/** What stands for the nodes in `--launcher`. */
export const nodesPlaceholder = "{nodes}";

/** What passes through shells and lists as it is. */
const plainWord = /^[A-Za-z0-9_./:=@%+,-]+$/;

/** The name of a node that can stand in a list of them. */
export const plainHost = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$/;

/**
 * The plan of a launcher that the user names: a line of shell, behind which the command for a node is put. `hosts` stands
 * for `{nodes}` in it, with commas. Throws a usage error where the two do not belong together, and for a command that
 * would not survive the shells on the way (pdsh and ssh have one on the node); RangeError for hosts that are not plainHost:
 * the line of shell would obey them.
 */
export function planOfLauncher(
  launcher: string,
  command: readonly string[],
  { hosts, count }: Pick<LaunchPlan, "hosts" | "count">,
): LaunchPlan {
  const foreign = hosts?.find((host) => !plainHost.test(host));
  if (foreign !== undefined) throw new RangeError(`${JSON.stringify(foreign)} is no name of a host`);
  const odd = command.find((word) => !plainWord.test(word));
  if (odd !== undefined) {
    throw new PinbenchError(
      "usage",
      `"${odd}" may not reach a node unchanged: launchers pass it to a shell.`,
      {
        hint: "Use a path of only letters, digits and the characters _ . / : = @ % + , -",
      },
    );
  }
  if (launcher.includes(nodesPlaceholder) && hosts === null) {
    throw new PinbenchError("usage", `--launcher has ${nodesPlaceholder}, and --nodes does not name them.`, {
      hint: "Write --nodes n01,n02 in place of a number.",
    });
  }
  const line = launcher.replaceAll(nodesPlaceholder, hosts?.join(",") ?? "");
  return {
    launches: [{ argv: ["/bin/sh", "-c", `${line} "$@"`, "pinbench", ...command], nodes: null }],
    shown: [launcher, ...command],
    hosts,
    count: hosts?.length ?? count,
    expand: async () => [],
    cancel: async () => undefined,
  };
}
