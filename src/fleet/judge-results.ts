import { expectationOf, readSiteReference, type SiteReference } from "../doctor/expectation.js";
import { packageVersion } from "../package-facts.js";
import type { FleetDocument } from "./fleet-document.js";
import { judgeFleet } from "./judge-fleet.js";
import type { FleetRule } from "./judge-group.js";
import { readFleet } from "./read-fleet.js";
import { siteReferenceOf } from "./site-reference.js";

/** What a fleet is judged by. */
export interface FleetRequested extends FleetRule {
  /** A file with the site's own reference. */
  reference?: string | null;
  /** Results from before this time (ISO 8601, UTC) are left out. */
  since?: string | null;
  /** Whether the document comes with a reference of the healthy GPUs. */
  writesReference?: boolean;
}

/**
 * Reads the results at these paths, and says which of their nodes and GPUs are slow. Rejects with a usage error, also where
 * a reference is asked for and there is none to write.
 */
export async function judgeResults(
  paths: readonly string[],
  { reference = null, since = null, writesReference = false, ...rule }: FleetRequested,
): Promise<{ document: FleetDocument; reference: SiteReference | null }> {
  const site = reference === null ? null : await readSiteReference(reference);
  const { nodes, fresh } = await readFleet(paths, since);
  const document = judgeFleet({
    version: packageVersion(),
    createdAt: new Date().toISOString(),
    nodes,
    fresh,
    rule,
    referenceOf: (device, link) => expectationOf(device, link, site),
  });
  return { document, reference: writesReference ? siteReferenceOf(nodes, document) : null };
}
