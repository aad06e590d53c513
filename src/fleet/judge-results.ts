import { counted, timeText } from "../draw/words.js";
import { packageVersion } from "../package-facts.js";
import { expectationOf, readSiteReference } from "../reference/expectation.js";
import type { FleetDocument } from "./fleet-document.js";
import { someOf } from "./fleet-wording.js";
import { type FleetRule, judgeFleet } from "./judge-fleet.js";
import { readFleet } from "./read-fleet.js";

interface FleetRequested extends FleetRule {
  /** A file with the site's own reference. */
  reference?: string | null;
  /** Ignore results from before this time (ISO 8601, UTC). */
  since?: string | null;
}

/** Reads results and finds slow nodes and GPUs. Rejects with a usage error. */
export async function judgeResults(
  paths: readonly string[],
  { reference = null, since = null, ...rule }: FleetRequested,
): Promise<FleetDocument> {
  const site = reference === null ? null : await readSiteReference(reference);
  const { nodes, fresh, leftOut } = await readFleet(paths, since);
  const left = `${counted(leftOut.length, "node")} not judged, because all results are from before`;
  return judgeFleet({
    version: packageVersion(),
    createdAt: new Date().toISOString(),
    nodes,
    fresh,
    rule,
    notes: leftOut.length === 0 ? [] : [`${left} ${timeText(since!)}: ${someOf(leftOut)}.`],
    referenceOf: (device, link) => expectationOf(device, link, site),
  });
}
