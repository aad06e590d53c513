import { resolve } from "node:path";
import { jsonReport } from "../../draw/json.js";
import { ExitCode } from "../../errors.js";
import { measureAsNode } from "../../fleet/launch/node-process.js";
import { programPath } from "../../package-facts.js";
import type { Invocation } from "../asked-settings.js";
import { Interruption } from "../interruption.js";

/**
 * `pinbench fleet-node`, which launchers start on each node: measures what the folder says, and leaves there what came of
 * it. Returns 0 whatever that is, for a launcher such as mpirun ends all nodes where one fails; throws PinbenchError
 * where the node cannot begin.
 */
export async function fleetNodeCommand(_: object, { operands }: Invocation): Promise<ExitCode> {
  const [folder = ""] = operands;
  const interruption = new Interruption();
  try {
    const { signal } = interruption;
    await measureAsNode(resolve(folder), {
      entry: programPath,
      render: jsonReport,
      signal,
      env: process.env,
    });
  } finally {
    interruption.dispose();
  }
  return interruption.exitCode ?? ExitCode.ok;
}
