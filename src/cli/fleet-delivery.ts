import { ExitCode } from "../errors.js";
import type { FleetDocument } from "../fleet/fleet-document.js";
import { isLacking } from "../report/fleet/fleet-text.js";
import { fleetFormatOfPath, renderFleet } from "../report/fleet/render-fleet.js";
import { checkWritable } from "../results/store.js";
import type { FleetFormat, PictureFormat } from "../settings/choices.js";
import type { CommandSettings } from "../settings/command-settings.js";
import { chosenFormat } from "./asked-settings.js";
import { type Destinations, deliver } from "./delivery.js";
import { keepInputs } from "./output-paths.js";
import { outputFiles, withPictures } from "./picture-output.js";

/** What all commands that end with a fleet's report have in common: where it goes. */
type FleetReportFlags = Pick<
  CommandSettings<"fleet">,
  "format" | "json" | "output" | "chart" | "ids" | "plain" | "ascii" | "color" | "debug"
>;

/** Where a fleet's report is to go. */
export type FleetOutputs = Destinations<FleetFormat | PictureFormat>;

/**
 * Where a report is to go, checked before anything is measured or read; `inputs` are what is read, which no output may be.
 * Rejects with a usage or an "output" PinbenchError.
 */
export async function fleetOutputs(
  flags: FleetReportFlags,
  inputs: readonly string[],
): Promise<FleetOutputs> {
  const format = chosenFormat(flags);
  const files = outputFiles(flags, fleetFormatOfPath);
  await keepInputs(flags.output, inputs);
  for (const { path } of files) await checkWritable(path);
  return { format, files };
}

/** Prints and writes what there is to say of a fleet, and returns the exit code that follows from it. */
export async function deliverFleet(
  document: FleetDocument,
  outputs: FleetOutputs,
  flags: FleetReportFlags,
): Promise<ExitCode> {
  const render = withPictures<Exclude<FleetFormat, PictureFormat>>(
    { kind: "fleet", path: null, document },
    flags,
    (format, screen) => renderFleet(document, format, screen),
  );
  await deliver(render, outputs, flags);
  return fleetExitCode(document);
}

/** 1 where any node or GPU is slow; else 4 where any node has no figures that count; else 0. */
function fleetExitCode({ outliers, nodes }: FleetDocument): ExitCode {
  if (outliers.length > 0) return ExitCode.regression;
  return nodes.some(isLacking) ? ExitCode.measurement : ExitCode.ok;
}
