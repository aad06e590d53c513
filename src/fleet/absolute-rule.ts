import { type Expectation, type expectationOf, linkOfSlot, recordedLink } from "../reference/expectation.js";
import { isReferenceCell } from "../results/reference-cell.js";
import { cellOfKey, kindOf, type NodeGroup } from "./node-figures.js";
import { type GpuScore, type SlowOne, scoreIn, slowOnes } from "./relative-rule.js";

/* Rule 1: a GPU is slow if it is below its model's reference by more than the tolerance. */

export type ReferenceOf = typeof expectationOf;

/** Rates of healthy GPUs by model, for models with a reference. */
export type HealthyRates = ReadonlyMap<string, Expectation>;

export function healthyRates({ nodes, facts }: NodeGroup, referenceOf: ReferenceOf | null): HealthyRates {
  const devices = nodes.flatMap((node) => node.devices);
  const best = devices.find(({ linkCapability }) => linkCapability !== null)?.linkCapability;
  const rates = new Map<string, Expectation>();
  for (const name of new Set(devices.map((device) => device.name))) {
    const widths = devices.flatMap((device) => (device.name === name ? (device.link?.width ?? []) : []));
    const expectation = referenceOf?.(
      { name, emulated: facts.backend === "emulated" },
      // Imported results have no link.
      best != null
        ? linkOfSlot(name, best, { width: Math.max(...widths) })
        : (recordedLink(name) ?? { generation: null, width: null }),
    );
    if (expectation != null) rates.set(name, expectation);
  }
  return rates;
}

/** Rate of a healthy GPU in GB/s, for large plain pinned copies, also warm ones; null for other figures. */
export function healthyRate(rates: HealthyRates, name: string, key: string): number | null {
  const cell = cellOfKey(key);
  const expectation = rates.get(name);
  if (expectation === undefined || kindOf(key).unit === "us" || cell.together !== undefined) return null;
  return isReferenceCell({ ...cell, cache: "cold" }) ? expectation[cell.direction as "h2d" | "d2h"] : null;
}

/** Nodes and GPUs below the reference in one series; `bound` is null if no figure has a reference. */
export function belowReference(
  { nodes }: NodeGroup,
  keys: readonly string[],
  rates: HealthyRates,
): { gpus: GpuScore[]; slow: SlowOne[]; bound: number | null } {
  const gpus = nodes.flatMap(({ devices }, node) =>
    devices.flatMap((gpu, device) => {
      const cells = keys.flatMap((key) => {
        const rate = healthyRate(rates, gpu.name, key);
        return rate === null ? [] : [{ key, level: Math.log(rate) }];
      });
      return scoreIn(gpu, { node, device, cells, offset: 0 }) ?? [];
    }),
  );
  if (gpus.length === 0) return { gpus, slow: [], bound: null };
  const bound = -Math.log1p(-Math.max(...[...rates.values()].map(({ tolerance }) => tolerance)));
  return { gpus, slow: slowOnes(nodes, gpus, { centre: 0, bound }, () => bound).slow, bound };
}
