import type { ExitCode } from "../../../errors.js";
import { judgeResults } from "../../../fleet/judge-results.js";
import type { CommandSettings } from "../../../settings/command-settings.js";
import { destinationsOf } from "../../output/document-output.js";
import type { Invocation } from "../../requested-settings.js";
import { deliverFleet, savedFleet } from "./fleet-delivery.js";

export async function fleetCommand(
  flags: CommandSettings<"fleet">,
  { operands, flagKeys }: Invocation,
): Promise<ExitCode> {
  const outputs = await destinationsOf("fleet", flags, operands);
  const document = (await savedFleet(operands, flagKeys)) ?? (await judgeResults(operands, flags));
  return deliverFleet(document, outputs, flags);
}
