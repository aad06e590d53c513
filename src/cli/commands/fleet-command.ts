import type { ExitCode } from "../../errors.js";
import { judgeResults } from "../../fleet/judge-results.js";
import { checkWritable, finalize } from "../../results/files/store.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import type { Invocation } from "../asked-settings.js";
import { destinationsOf } from "../output/document-output.js";
import { deliverFleet, savedFleet } from "../output/fleet-delivery.js";
import { keepInputs } from "../output/output-paths.js";

/** `pinbench fleet`: returns the exit code; throws PinbenchError. */
export async function fleetCommand(
  flags: CommandSettings<"fleet">,
  { operands, given }: Invocation,
): Promise<ExitCode> {
  const outputs = await destinationsOf("fleet", flags, operands);
  const { writeReference } = flags;
  if (writeReference !== null) {
    await keepInputs([writeReference], operands);
    await checkWritable(writeReference);
  }
  const saved = await savedFleet(operands, given);
  const { document, reference } =
    saved === null
      ? await judgeResults(operands, { ...flags, writesReference: writeReference !== null })
      : { document: saved, reference: null };
  if (writeReference !== null && reference !== null) {
    await finalize(writeReference, `${JSON.stringify(reference, null, 2)}\n`);
  }
  return deliverFleet(document, outputs, flags);
}
