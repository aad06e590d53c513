import type { SiteReference } from "../../doctor/expectation.js";
import { counted } from "../../draw/words.js";
import { PinbenchError } from "../../errors.js";
import { parseCellId } from "../../results/cell-id.js";
import { linkLimitGBps } from "../../results/device-facts.js";
import { isReferenceCell } from "../../results/reference-cell.js";
import { median } from "../../stats/order-statistics.js";
import type { FleetDocument, FleetGroup } from "../fleet-document.js";
import { linkOfText } from "../node-figures.js";
import { figuresOf } from "./fleet-text.js";

/** The smallest tolerance, as for recorded machines; and the factor on the range of healthy GPUs. */
const leastTolerance = 0.05;
const rangeFactor = 2;

/** What a healthy GPU reaches in one cell. */
interface HealthyFigure {
  gpu: string;
  host: string;
  driver: string | null;
  /** Direction and number of copying GPUs: "h2d 1". */
  way: string;
  shareOfLimit: number;
}

/**
 * A site's own reference from the fleet's GPUs that are not slow: for each model, the median share of the link's limit
 * that its pinned copies reach. The tolerance is twice the distance of the lowest, at least 5 %. Throws a PinbenchError
 * if no GPU counts.
 */
export function siteReferenceOf(document: FleetDocument): SiteReference {
  const healthy = healthyFigures(document);
  const date = document.createdAt.slice(0, 10);
  const models = [...new Set(healthy.map(({ gpu }) => gpu))];
  const listed = models.flatMap((gpu) => {
    const ofModel = healthy.filter((figure) => figure.gpu === gpu);
    return listedOf(gpu, ofModel, date) ?? [];
  });
  if (listed.length > 0) return { listed };
  throw new PinbenchError("usage", "no reference can be made: no healthy GPU has the figures for it.", {
    hint: "A reference needs pinned copies of 32 MiB or more, links that NVML reports, and nodes that are not slow.",
  });
}

/**
 * Those of nodes that are not slow. Groups that are slow as a whole or in part do not count, because nothing shows which of
 * their GPUs are healthy.
 */
function healthyFigures(document: FleetDocument): HealthyFigure[] {
  const slow = new Set(document.outliers.map(({ host }) => host));
  const isSound = ({ slowPart, slowAsAWhole, slowPlaces }: FleetGroup) =>
    (slowPart?.hosts ?? []).every((host) => slow.has(host)) &&
    slowAsAWhole === null &&
    slowPlaces.length === 0;
  return document.groups.flatMap((group, groupIndex) => {
    const link = linkOfText(group.facts.linkCapability ?? null);
    const limit = linkLimitGBps(link?.generation ?? null, link?.width ?? null);
    if (limit === null || !isSound(group)) return [];
    return group.cells.flatMap((kind, cellIndex) => {
      const cell = parseCellId(`d0/${kind.cell}`);
      if (kind.unit === "us" || !isReferenceCell(cell)) return [];
      const way = `${cell.direction} ${cell.together?.length ?? 1}`;
      return figuresOf(document, groupIndex, cellIndex).flatMap(({ node, device, value }) => {
        if (value === null || node.state !== "measured" || slow.has(node.host)) return [];
        const driver = group.facts.driver ?? null;
        return [{ gpu: device.name, host: node.host, driver, way, shareOfLimit: value / limit }];
      });
    });
  });
}

function listedOf(
  gpu: string,
  figures: readonly HealthyFigure[],
  date: string,
): SiteReference["listed"][number] | null {
  const ways = [...new Set(figures.map(({ way }) => way))];
  const sharesOf = (way: string) =>
    figures.filter((figure) => figure.way === way).map(({ shareOfLimit }) => shareOfLimit);
  const medianOf = (way: string) =>
    ways.includes(way) ? Math.min(1, +median(sharesOf(way)).toFixed(4)) : null;
  const both = (devices: number) => {
    const [h2d, d2h] = [medianOf(`h2d ${devices}`), medianOf(`d2h ${devices}`)];
    return h2d === null || d2h === null ? null : { h2d, d2h };
  };
  const alone = both(1);
  if (alone === null) return null;
  const counts = ways.map((way) => Number(way.split(" ")[1])).filter((count) => count > 1);
  const devices = Math.max(...counts);
  const together = counts.length === 0 ? null : both(devices);
  const losses = ways.map((way) => 1 - Math.min(...sharesOf(way)) / median(sharesOf(way)));
  const tolerance = Math.min(0.5, Math.max(leastTolerance, rangeFactor * Math.max(...losses)));
  const hosts = new Set(figures.map(({ host }) => host));
  const [driver, other] = new Set(figures.map((figure) => figure.driver));
  const common = other === undefined ? (driver ?? null) : null;
  return {
    gpu,
    alone,
    together: together && { ...together, devices },
    tolerance: +tolerance.toFixed(3),
    sources: [
      `${counted(hosts.size, "node")} of this site, ${date}${common === null ? "" : `, driver ${common}`}`,
    ],
    driver: common,
  };
}
