import { expectationOf } from "../doctor/expectation.js";
import { packageVersion } from "../package-facts.js";
import type { FleetDocument } from "./fleet-document.js";
import { judgeFleet } from "./judge-fleet.js";
import type { FleetRule } from "./judge-group.js";
import { readFleet } from "./read-fleet.js";

/**
 * Reads the results at these paths, those from before `since` (ISO 8601, UTC) excepted, and says which of their nodes and
 * GPUs are slow. Rejects with a usage error.
 */
export async function judgeResults(
  paths: readonly string[],
  rule: FleetRule,
  since: string | null = null,
): Promise<FleetDocument> {
  const { nodes, fresh } = await readFleet(paths, since);
  return judgeFleet({
    version: packageVersion(),
    createdAt: new Date().toISOString(),
    nodes,
    fresh,
    rule,
    referenceOf: expectationOf,
  });
}
