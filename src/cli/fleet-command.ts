import { type ExitCode, PinbenchError } from "../errors.js";
import { readAnyDocument } from "../report/read-document.js";
import type { CommandSettings } from "../settings/command-settings.js";
import type { Invocation } from "./asked-settings.js";
import { deliverFleet, fleetOutputs } from "./fleet-delivery.js";

/** `pinbench fleet`: returns the exit code; throws PinbenchError. */
export async function fleetCommand(
  flags: CommandSettings<"fleet">,
  { operands }: Invocation,
): Promise<ExitCode> {
  const outputs = await fleetOutputs(flags, operands);
  const [first = ""] = operands;
  const read = await readAnyDocument(first);
  if (read.kind !== "fleet") throw new PinbenchError("usage", `${first} is no fleet.`);
  return deliverFleet(read.document, outputs, flags);
}
