import { stat } from "node:fs/promises";
import { ExitCode, PinbenchError } from "../../errors.js";
import type { FleetDocument } from "../../fleet/fleet-document.js";
import { slurmNodes } from "../../fleet/launch/slurm-launch.js";
import { unlistedHosts } from "../../fleet/report/drain-lines.js";
import { fleetKindFor } from "../../fleet/report/fleet-report.js";
import { isLacking } from "../../fleet/report/fleet-text.js";
import { readDocuments } from "../../kinds/read-documents.js";
import { checkWritable } from "../../results/files/store.js";
import { type CommandSettings, commandSettings } from "../../settings/command-settings.js";
import { documentFormats, type FormatOf } from "../../settings/document-formats.js";
import { fleetSettings } from "../../settings/table.js";
import { readTextFile } from "../../text-file.js";
import { chosenFormat } from "../asked-settings.js";
import { type Destinations, deliver, documentDrawer, outputFiles } from "./document-output.js";
import { keepInputs } from "./output-paths.js";
import { noter } from "./terminal.js";

/** What all commands that end with a fleet's report have in common: where it goes. */
type FleetReportFlags = Pick<
  CommandSettings<"fleet">,
  "format" | "json" | "output" | "chart" | "quiet" | "ids" | "plain" | "ascii" | "color" | "debug"
>;

/** Where a fleet's report is to go. */
export type FleetOutputs = Destinations<FormatOf<"fleet">>;

/**
 * Where a report is to go, checked before anything is measured or read; `inputs` are what is read, which no output may be.
 * Rejects with a usage or an "output" PinbenchError.
 */
export async function fleetOutputs(
  flags: FleetReportFlags,
  inputs: readonly string[],
): Promise<FleetOutputs> {
  const format = chosenFormat(flags);
  const files = outputFiles(documentFormats.fleet, flags);
  await keepInputs(flags.output, inputs);
  for (const { path } of files) await checkWritable(path);
  return { format, files };
}

/** `"kind": "fleet"` near the beginning, where pinbench writes it: to tell by it, a result need not be read as JSON twice. */
const beginsAsFleet = /^[^[]{0,200}"kind":\s*"fleet"/;

/**
 * What `fleet --json` printed before, where that is all that is given; null for anything else. Rejects with a usage error
 * where it is not as it was written, and where flags ask for it to be judged anew: it has no more than was told.
 */
export async function savedFleet(
  paths: readonly string[],
  given: readonly string[],
): Promise<FleetDocument | null> {
  const [path = "", ...others] = paths;
  if (others.length > 0 || !(await stat(path).catch(() => null))?.isFile()) return null;
  if (!beginsAsFleet.test(await readTextFile(path))) return null;
  const [read] = await readDocuments(path);
  if (read?.kind !== "fleet") return null;
  const rule = [...Object.keys(fleetSettings), "since", "writeReference"].find((key) => given.includes(key));
  if (rule === undefined) return read.document;
  const [flag] =
    commandSettings.fleet[rule as keyof typeof fleetSettings | "since" | "writeReference"].flag.split(" ");
  throw new PinbenchError("usage", `${flag} cannot change ${path}: its nodes have already been judged.`, {
    hint: "Give the nodes' results.",
  });
}

/** Prints and writes what there is to say of a fleet, and returns the exit code that follows from it. */
export async function deliverFleet(
  document: FleetDocument,
  outputs: FleetOutputs,
  flags: FleetReportFlags,
): Promise<ExitCode> {
  const formats = [outputs.format, ...outputs.files.map(({ format }) => format)];
  const isForSlurm = formats.includes("nodelist") || formats.includes("drain");
  const known = isForSlurm ? await slurmNodes() : null;
  const draw = await documentDrawer({ kind: "fleet", document }, flags, { kind: fleetKindFor(known) });
  await deliver(draw, outputs, flags);
  // A list of nodes has no place for comments: that one is missing must not go unnoticed.
  const unlisted = formats.includes("nodelist") ? unlistedHosts(document, known) : [];
  for (const { host, reason } of unlisted)
    noter(flags)(`left out of the list of nodes, as ${reason}: ${host}`);
  return fleetExitCode(document);
}

/**
 * 1 where any node or GPU is slow, or a part of a group or a slot is and its figures do not tell which; else 4 where any node has no
 * figures that count; else 0.
 */
function fleetExitCode({ outliers, groups, nodes }: FleetDocument): ExitCode {
  if (outliers.length > 0 || groups.some(isSlowSomewhere)) return ExitCode.regression;
  return nodes.some(isLacking) ? ExitCode.measurement : ExitCode.ok;
}

/** Of two nodes one is always the slower, and their own spread is not known: that is told, and no finding. */
function isSlowSomewhere({ nodes, slowPart, slowPlaces }: FleetDocument["groups"][number]): boolean {
  return (slowPart !== null && nodes > 2) || slowPlaces.length > 0;
}
