import { counted } from "../../draw/words.js";
import { PinbenchError } from "../../errors.js";
import type { SiteReference } from "../../reference/expectation.js";
import { parseCellId } from "../../results/cell-id.js";
import { linkLimitGBps } from "../../results/device-facts.js";
import { isReferenceCell } from "../../results/reference-cell.js";
import { groupBy } from "../../stats/group-by.js";
import { median } from "../../stats/order-statistics.js";
import type { FleetDocument } from "../fleet-document.js";
import { linkOfText } from "../node-figures.js";
import { figuresOf } from "./fleet-text.js";

/** Smallest tolerance, as for recorded machines, and factor on the distance of the lowest healthy GPU. */
const leastTolerance = 0.05;
const rangeFactor = 2;

interface HealthyFigure {
  gpu: string;
  host: string;
  driver: string | null;
  direction: string;
  devices: number;
  shareOfLimit: number;
}

/**
 * A site's own reference, from the fleet's healthy GPUs: for each model, the median share of the link's limit reached
 * by pinned copies. Tolerance: twice the distance of the lowest GPU, at least 5 %. Throws a PinbenchError if no GPU
 * counts.
 */
export function siteReferenceOf(document: FleetDocument): SiteReference {
  const models = groupBy(healthyFigures(document), ({ gpu }) => gpu);
  const date = document.createdAt.slice(0, 10);
  const listed = [...models].flatMap(([gpu, figures]) => listedOf(gpu, figures, date));
  if (listed.length > 0) return { listed };
  throw new PinbenchError("usage", "no reference can be made: no healthy GPU has the figures for it.", {
    hint: "A reference needs pinned copies of 32 MiB or more, links that NVML reports, and similar nodes that are not slow.",
  });
}

/** Figures of compared nodes that are not slow. Leaves out groups in two parts: which one is healthy is unknown. */
function healthyFigures(document: FleetDocument): HealthyFigure[] {
  const slow = new Set(document.outliers.map(({ host }) => host));
  return document.groups.flatMap(({ facts, slowPart, cells }, groupIndex) => {
    const link = linkOfText(facts.linkCapability ?? null);
    const limit = linkLimitGBps(link?.generation ?? null, link?.width ?? null);
    if (limit === null || slowPart !== null) return [];
    return cells.flatMap((kind, cellIndex) => {
      const cell = parseCellId(`d0/${kind.cell}`);
      if (kind.unit === "us" || !isReferenceCell(cell)) return [];
      const common = {
        driver: facts.driver ?? null,
        direction: cell.direction,
        devices: cell.together?.length ?? 1,
      };
      return figuresOf(document, groupIndex, cellIndex).flatMap(({ node, device, value }) => {
        if (value === null || node.state !== "measured" || !node.compared || slow.has(node.host)) return [];
        return [{ ...common, gpu: device.name, host: node.host, shareOfLimit: value / limit }];
      });
    });
  });
}

function listedOf(gpu: string, figures: readonly HealthyFigure[], date: string): SiteReference["listed"] {
  const ways = groupBy(figures, ({ direction, devices }) => `${direction} ${devices}`);
  const shares = new Map([...ways].map(([way, ones]) => [way, ones.map(({ shareOfLimit }) => shareOfLimit)]));
  const both = (devices: number) => {
    const [h2d, d2h] = ["h2d", "d2h"].map((way) => shares.get(`${way} ${devices}`));
    const middle = (some: number[]) => Math.min(1, +median(some).toFixed(4));
    return h2d === undefined || d2h === undefined ? null : { h2d: middle(h2d), d2h: middle(d2h) };
  };
  const alone = both(1);
  if (alone === null) return [];
  const devices = Math.max(...figures.map((figure) => figure.devices));
  const together = devices === 1 ? null : both(devices);
  const losses = [...shares.values()].map((some) => 1 - Math.min(...some) / median(some));
  const tolerance = Math.min(0.5, Math.max(leastTolerance, rangeFactor * Math.max(...losses)));
  const hosts = new Set(figures.map(({ host }) => host));
  const [driver = null, ...others] = new Set(figures.map((figure) => figure.driver));
  const common = others.length === 0 ? driver : null;
  const source = `${counted(hosts.size, "node")} of this site, ${date}${common === null ? "" : `, driver ${common}`}`;
  return [
    {
      gpu,
      alone,
      together: together && { ...together, devices },
      tolerance: +tolerance.toFixed(3),
      sources: [source],
      driver: common,
    },
  ];
}
