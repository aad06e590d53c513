import { resolve } from "node:path";
import { jsonReport } from "../../../draw/json.js";
import { ExitCode } from "../../../errors.js";
import { measureAsNode } from "../../../fleet/launch/node-process.js";
import { programPath } from "../../../package-facts.js";
import { Interruption } from "../../interruption.js";
import type { Invocation } from "../../requested-settings.js";

/**
 * `pinbench fleet-node`, which launchers start on each node: follows the order in the folder, and writes its result
 * there. Returns 0 even after a failure, because launchers such as mpirun end all nodes if one fails. Throws
 * PinbenchError if the node cannot begin.
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
