import { ExitCode, exitCodeOf, PinbenchError } from "../../../errors.js";
import type { FleetDocument } from "../../../fleet/fleet-document.js";
import { someOf } from "../../../fleet/fleet-wording.js";
import { unlistedHosts } from "../../../fleet/report/drain-lines.js";
import { kindOfFile, readDocuments } from "../../../kinds/read-documents.js";
import { commandSettings } from "../../../settings/command-settings.js";
import type { FormatOf } from "../../../settings/document-formats.js";
import { fleetSettings } from "../../../settings/table.js";
import { type Destinations, deliverDocument } from "../../output/document-output.js";
import { noter } from "../../output/terminal.js";

/**
 * The document of an earlier `fleet --json` if it is the only path; null otherwise. Rejects with a usage error if it
 * was edited, or if flags ask for a new judgement, which needs the nodes' results.
 */
export async function savedFleet(
  paths: readonly string[],
  flagKeys: readonly string[],
): Promise<FleetDocument | null> {
  const [path = "", ...others] = paths;
  if (others.length > 0 || (await kindOfFile(path)) !== "fleet") return null;
  const [read] = await readDocuments(path);
  if (read?.kind !== "fleet") return null;
  const rule = [...Object.keys(fleetSettings), "since"].find((key) => flagKeys.includes(key));
  if (rule === undefined) return read.document;
  const [flag] = commandSettings.fleet[rule as keyof typeof fleetSettings | "since"].flag.split(" ");
  throw new PinbenchError("usage", `${flag} cannot change ${path}: its nodes have already been judged.`, {
    hint: "Give the nodes' results.",
  });
}

export async function deliverFleet(
  document: FleetDocument,
  outputs: Destinations<FormatOf<"fleet">>,
  flags: { quiet: boolean },
): Promise<ExitCode> {
  await deliverDocument({ kind: "fleet", document }, outputs);
  // A list of nodes has no room for comments, so a missing node is reported on stderr.
  const isListed = [outputs, ...outputs.files].some(({ format }) => format === "nodelist");
  const unlisted = isListed ? unlistedHosts(document) : [];
  if (unlisted.length > 0)
    noter(flags)(
      `left out of the list of nodes, because they are not the names of hosts: ${someOf(unlisted)}.`,
    );
  return fleetExitCode(document);
}

/** A slower part of a group counts as a finding, although the healthy part is unknown. */
function fleetExitCode({ outliers, groups, nodes }: FleetDocument): ExitCode {
  return exitCodeOf(
    nodes.some(({ state }) => state === "wrong data") ? ExitCode.wrongData : null,
    nodes.some(({ state }) => state !== "measured") ? ExitCode.measurement : null,
    outliers.length > 0 || groups.some(({ slowPart }) => slowPart !== null) ? ExitCode.regression : null,
    groups.length > 0 && !nodes.some(({ compared }) => compared) ? ExitCode.undecided : null,
  );
}
