import { PinbenchError } from "../../errors.js";

export interface LaunchPlan {
  launches: readonly {
    argv: readonly string[];
    /** Nodes of this launch; null if one launch starts all nodes. */
    nodes: readonly string[] | null;
  }[];
  /** All nodes; null if only the launcher knows them. */
  hosts: readonly string[] | null;
  count: number;
  /** Cancels jobs that a killed launcher leaves behind. Never rejects. */
  cancel(): Promise<void>;
}

export const nodesPlaceholder = "{nodes}";

/** Words that need no quoting in shells or lists. */
const plainWord = /^[A-Za-z0-9_./:=@%+,-]+$/;

/** A node's name that is safe in a list. */
export const plainHost = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$/;

/**
 * The plan for the user's launcher: a shell command, followed by the command for a node. `{nodes}` in it becomes
 * `hosts`, separated by commas. Throws a usage error if one of them is missing or a shell on the way (pdsh and ssh have
 * one) would change the command; a RangeError for hosts that do not match plainHost, because a shell reads them.
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
    hosts,
    count,
    cancel: async () => undefined,
  };
}
