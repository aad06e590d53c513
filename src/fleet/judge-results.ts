import { expectationOf, readSiteReference, type SiteReference } from "../doctor/expectation.js";
import { counted } from "../draw/words.js";
import { PinbenchError } from "../errors.js";
import { packageVersion } from "../package-facts.js";
import { linkLimitGBps } from "../results/device-facts.js";
import { median } from "../stats/order-statistics.js";
import { leftOutText } from "./doubtful-results.js";
import type { FleetDocument } from "./fleet-document.js";
import { judgeFleet } from "./judge-fleet.js";
import type { FleetRule } from "./judge-group.js";
import type { DeviceFigures, NodeFigures } from "./node-figures.js";
import { readFleet } from "./read-fleet.js";
import { referenceCell } from "./reference-share.js";

/** What to judge a fleet by. */
export interface FleetRequested extends FleetRule {
  /** A file with the site's own reference. */
  reference?: string | null;
  /** Results from before this time (ISO 8601, UTC) are left out. */
  since?: string | null;
  /** Whether the document comes with a reference from the healthy GPUs. */
  writesReference?: boolean;
}

/**
 * Reads the results at these paths, and finds their slow nodes and GPUs. Rejects with a usage error, also if a
 * reference is requested but cannot be written.
 */
export async function judgeResults(
  paths: readonly string[],
  { reference = null, since = null, writesReference = false, ...rule }: FleetRequested,
): Promise<{ document: FleetDocument; reference: SiteReference | null }> {
  const site = reference === null ? null : await readSiteReference(reference);
  const { nodes, fresh, leftOut } = await readFleet(paths, since);
  const document = judgeFleet({
    version: packageVersion(),
    createdAt: new Date().toISOString(),
    nodes,
    fresh,
    rule,
    doubts: since === null ? [] : leftOutText(leftOut, nodes, since),
    referenceOf: (device, link) => expectationOf(device, link, site),
  });
  return { document, reference: writesReference ? siteReferenceOf(nodes, document) : null };
}

type Listed = SiteReference["listed"][number];

/** The smallest tolerance, as for recorded machines; and the factor on the range of healthy GPUs. */
const leastTolerance = 0.05;
const rangeFactor = 2;

/**
 * A site's own reference from the fleet's GPUs that are not slow: for each model, the median share of the link's limit
 * that its pinned copies reach. The tolerance is twice the distance of the lowest, at least 5 %. Throws a PinbenchError
 * if no GPU counts. Groups that are slow as a whole or in part do not count, because nothing shows which of their GPUs
 * are healthy.
 */
export function siteReferenceOf(
  nodes: readonly NodeFigures[],
  { nodes: told, groups, outliers, createdAt }: FleetDocument,
): SiteReference {
  const slow = new Set(outliers.map(({ host }) => host));
  const isSound = (host: string) => {
    const node = told.find((one) => one.host === host);
    const group = node?.group == null ? undefined : groups[node.group];
    return (
      node?.state === "measured" &&
      group !== undefined &&
      (group.slowPart?.hosts ?? []).every((one) => slow.has(one)) &&
      group.slowAsAWhole === null &&
      group.slowPlaces.length === 0 &&
      !slow.has(host)
    );
  };
  const sound = nodes.filter(({ host }) => isSound(host));
  const models = [...new Set(sound.flatMap(({ devices }) => devices.map(({ name }) => name)))];
  const listed = models.flatMap((gpu) => listedOf(gpu, sound, createdAt.slice(0, 10)) ?? []);
  if (listed.length > 0) return { listed };
  throw new PinbenchError("usage", "no reference can be written: no healthy GPU has the figures for it.", {
    hint: "A reference needs pinned copies of 32 MiB or more, links that NVML reports, and nodes that are not slow.",
  });
}

function listedOf(gpu: string, nodes: readonly NodeFigures[], date: string): Listed | null {
  const shares = new Map<string, number[]>();
  const hosts = new Set<string>();
  const drivers = new Set<string | null>();
  for (const { host, devices, facts } of nodes) {
    for (const device of devices.filter(({ name }) => name === gpu)) {
      for (const [way, ofWay] of sharesOf(device)) {
        hosts.add(host);
        drivers.add(facts.driver ?? null);
        shares.set(way, [...(shares.get(way) ?? []), ...ofWay]);
      }
    }
  }
  const medianOf = (way: string) => {
    const ofWay = shares.get(way);
    return ofWay === undefined ? null : Math.min(1, +median(ofWay).toFixed(4));
  };
  const both = (devices: number) => {
    const [h2d, d2h] = [medianOf(`h2d ${devices}`), medianOf(`d2h ${devices}`)];
    return h2d === null || d2h === null ? null : { h2d, d2h };
  };
  const [first = null] = drivers;
  const driver = drivers.size === 1 ? first : null;
  const alone = both(1);
  if (alone === null) return null;
  const counts = [...shares.keys()].map((way) => Number(way.split(" ")[1])).filter((count) => count > 1);
  const devices = Math.max(...counts);
  const together = counts.length === 0 ? null : both(devices);
  const losses = [...shares.values()].map((ofWay) => 1 - Math.min(...ofWay) / median(ofWay));
  const tolerance = Math.min(0.5, Math.max(leastTolerance, rangeFactor * Math.max(...losses)));
  return {
    gpu,
    alone,
    together: together && { ...together, devices },
    tolerance: +tolerance.toFixed(3),
    sources: [
      `${counted(hosts.size, "node")} of this site, ${date}${driver === null ? "" : `, driver ${driver}`}`,
    ],
    driver,
  };
}

/** A GPU's shares of its link's limit, by direction and number of copying GPUs: "h2d 1". */
function sharesOf({ linkCapability, figures }: DeviceFigures): Map<string, number[]> {
  const shares = new Map<string, number[]>();
  const limit = linkLimitGBps(linkCapability?.generation ?? null, linkCapability?.width ?? null);
  for (const [key, figure] of limit === null ? [] : figures) {
    const cell = referenceCell(key);
    if (cell === null) continue;
    const way = `${cell.direction} ${cell.together?.length ?? 1}`;
    shares.set(way, [...(shares.get(way) ?? []), figure / limit!]);
  }
  return shares;
}
