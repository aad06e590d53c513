import { type Expectation, type expectationOf, linkOfSlot, recordedLink } from "../reference/expectation.js";
import { isReferenceCell } from "../results/reference-cell.js";
import { cellOfKey, kindOf, type NodeGroup } from "./node-figures.js";
import { type GpuScore, type SlowOne, scoreIn, slowOnes } from "./relative-rule.js";

/*
 * Rule 1: a GPU below the reference of its kind by more than the tolerance is slow, whatever the others are.
 */

export type ReferenceOf = typeof expectationOf;

/** The rates of healthy GPUs of a group, by model; only of recorded kinds. */
export type HealthyRates = ReadonlyMap<string, Expectation>;

export function healthyRates({ nodes, facts }: NodeGroup, referenceOf: ReferenceOf | null): HealthyRates {
  const devices = nodes.flatMap((node) => node.devices);
  const best = devices.find(({ linkCapability }) => linkCapability !== null)?.linkCapability;
  const rates = new Map<string, Expectation>();
  for (const name of new Set(devices.map((device) => device.name))) {
    const widths = devices.flatMap((device) => (device.name === name ? (device.link?.width ?? []) : []));
    const expectation = referenceOf?.(
      { name, emulated: facts.backend === "emulated" },
      // An import records no link.
      best != null
        ? linkOfSlot(name, best, { width: Math.max(...widths) })
        : (recordedLink(name) ?? { generation: null, width: null }),
    );
    if (expectation != null) rates.set(name, expectation);
  }
  return rates;
}

/** The rate of a healthy GPU in GB/s: in large plain pinned copies, warm ones included; null for other figures. */
export function healthyRate(rates: HealthyRates, name: string, key: string): number | null {
  const cell = cellOfKey(key);
  const expectation = rates.get(name);
  if (expectation === undefined || kindOf(key).unit === "us" || cell.together !== undefined) return null;
  return isReferenceCell({ ...cell, cache: "cold" }) ? expectation[cell.direction as "h2d" | "d2h"] : null;
}

/** The nodes and GPUs below the reference in one series; `bound` is null if none of these figures has one. */
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
