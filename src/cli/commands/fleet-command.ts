import type { ExitCode } from "../../errors.js";
import { judgeResults } from "../../fleet/judge-results.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import type { Invocation } from "../asked-settings.js";
import { deliverFleet, fleetOutputs, savedFleet } from "../output/fleet-delivery.js";

/** `pinbench fleet`: returns the exit code; throws PinbenchError. */
export async function fleetCommand(
  flags: CommandSettings<"fleet">,
  { operands, given }: Invocation,
): Promise<ExitCode> {
  const outputs = await fleetOutputs(flags, operands);
  const document = (await savedFleet(operands, given)) ?? (await judgeResults(operands, flags, flags.since));
  return deliverFleet(document, outputs, flags);
}
