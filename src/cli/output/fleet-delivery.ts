import { stat } from "node:fs/promises";
import { ExitCode, exitCodeOf, PinbenchError } from "../../errors.js";
import type { FleetDocument } from "../../fleet/fleet-document.js";
import { slurmNodes } from "../../fleet/launch/slurm-launch.js";
import { unlistedHosts } from "../../fleet/report/drain-lines.js";
import { fleetKindFor } from "../../fleet/report/fleet-report.js";
import { isLacking, isUnclear } from "../../fleet/report/fleet-text.js";
import { readDocuments } from "../../kinds/read-documents.js";
import { commandSettings } from "../../settings/command-settings.js";
import type { FormatOf } from "../../settings/document-formats.js";
import { fleetSettings } from "../../settings/table.js";
import { readTextFile } from "../../text-file.js";
import { type Destinations, deliverDocument } from "./document-output.js";
import { noter } from "./terminal.js";

/** `"kind": "fleet"` near the beginning, where pinbench writes it: with this, results need not be parsed twice. */
const beginsAsFleet = /^[^[]{0,200}"kind":\s*"fleet"/;

/**
 * The document of an earlier `fleet --json`, if the paths are only that; null otherwise. Rejects with a usage error if
 * it was edited, or if flags ask for a new judgement, which needs the nodes' results.
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
  const rule = [...Object.keys(fleetSettings), "since"].find((key) => given.includes(key));
  if (rule === undefined) return read.document;
  const [flag] = commandSettings.fleet[rule as keyof typeof fleetSettings | "since"].flag.split(" ");
  throw new PinbenchError("usage", `${flag} cannot change ${path}: its nodes have already been judged.`, {
    hint: "Give the nodes' results.",
  });
}

/** Prints and writes a fleet's report; returns its exit code. */
export async function deliverFleet(
  document: FleetDocument,
  outputs: Destinations<FormatOf<"fleet">>,
  flags: { quiet: boolean },
): Promise<ExitCode> {
  const formats = [outputs.format, ...outputs.files.map(({ format }) => format)];
  const isForSlurm = formats.includes("nodelist") || formats.includes("drain");
  const known = isForSlurm ? await slurmNodes() : null;
  await deliverDocument({ kind: "fleet", document }, outputs, fleetKindFor(known));
  // A list of nodes has no room for comments, so a missing node is reported on stderr.
  const unlisted = formats.includes("nodelist") ? unlistedHosts(document, known) : [];
  for (const { host, reason } of unlisted)
    noter(flags)(`left out of the list of nodes, because ${reason}: ${host}`);
  return fleetExitCode(document);
}

/**
 * A group or a slot is slow also if its figures do not show which of its nodes are. A node that may be slow is
 * undecided.
 */
function fleetExitCode({ outliers, groups, nodes }: FleetDocument): ExitCode {
  return exitCodeOf(
    nodes.some(({ state }) => state === "wrong data") ? ExitCode.wrongData : null,
    nodes.some(isLacking) ? ExitCode.measurement : null,
    outliers.length > 0 || groups.some(isSlowSomewhere) ? ExitCode.regression : null,
    nodes.some(isUnclear) ? ExitCode.inconclusive : null,
  );
}

function isSlowSomewhere({ slowPart, slowPlaces }: FleetDocument["groups"][number]): boolean {
  return slowPart !== null || slowPlaces.length > 0;
}
