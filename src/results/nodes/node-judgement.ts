import { type IntervalEstimate, ratioInterval } from "../claimed-interval.js";

/*
 * Which NUMA node a device's copies are fastest with, and what another one costs. Pure: rates in, a verdict out.
 */

/** The rate of a device's copies with the memory of one node. */
export interface NodeRate {
  node: number;
  /** What rates with several nodes have in common: "h2d at once". They are compared only within it. */
  condition: string;
  rate: IntervalEstimate;
}

/** Rates with the nearest node and with another one. */
export interface NodePair {
  condition: string;
  near: IntervalEstimate;
  far: IntervalEstimate;
  /** The near node's rate over the far one's. */
  ratio: IntervalEstimate;
}

/** What a node costs, in the condition in which it costs most, and in all. */
export interface NodeCost extends NodePair {
  node: number;
  all: readonly NodePair[];
}

/**
 * What sysfs says: nothing ("unknown"), a node without rates ("unmeasured"), a slower one ("wrong"), one of the fastest
 * ("right"), or a node where all are alike ("equal") or not precise enough to tell ("open").
 */
export type SysfsVerdict = "unknown" | "unmeasured" | "wrong" | "right" | "equal" | "open";

/** The verdict on one device. */
export interface NodeVerdict {
  /** The fastest node, preferably the one that sysfs names if no other is faster. */
  best: number;
  /** The nodes that are slower than another, with their costs against the best; the most costly first. */
  costs: NodeCost[];
  sysfs: SysfsVerdict;
}

/** Smaller differences do not count: nodes are not measured at exactly the same time. */
export const leastCost = 1.03;

/**
 * The verdict from the rates of one device; null with fewer than two nodes. A node is slower than another if the interval of
 * the ratio says so in one condition, and the opposite in none. `equalWidth` is the largest relative half-width of
 * intervals with which rates may count as equal.
 */
export function judgeNodes(
  rates: readonly NodeRate[],
  sysfsNode: number | null,
  equalWidth: number,
): NodeVerdict | null {
  const nodes = [...new Set(rates.map(({ node }) => node))];
  if (nodes.length < 2) return null;
  const pairs = (fast: number, slow: number): NodePair[] =>
    rates.flatMap((one) => {
      const other = rates.find(({ node, condition }) => node === slow && condition === one.condition);
      if (one.node !== fast || other === undefined) return [];
      const { condition } = one;
      return [
        {
          condition,
          near: one.rate,
          far: other.rate,
          ratio: ratioInterval(one.rate, other.rate),
        },
      ];
    });
  const beats = (fast: number, slow: number) => {
    const compared = pairs(fast, slow);
    return (
      compared.some(({ ratio }) => ratio.low > leastCost) &&
      !compared.some(({ ratio }) => ratio.high < 1 / leastCost)
    );
  };
  const unbeaten = nodes.filter((node) => !nodes.some((other) => beats(other, node)));
  // Nodes may beat each other in a circle only if their rates are odd: then no node is best.
  const candidates = unbeaten.length === 0 ? nodes : unbeaten;
  const best =
    sysfsNode !== null && unbeaten.includes(sysfsNode)
      ? sysfsNode
      : candidates.reduce((most, node) => (gainOver(pairs(node, most)) > 0 ? node : most));
  const costs = nodes
    .filter((node) => node !== best && beats(best, node))
    .map((node): NodeCost => {
      const all = pairs(best, node);
      return { node, ...all.toSorted((a, b) => b.ratio.median - a.ratio.median)[0]!, all };
    })
    .toSorted((a, b) => b.ratio.median - a.ratio.median);
  const verdict = (sysfs: SysfsVerdict) => ({ best, costs, sysfs });
  if (sysfsNode === null) return verdict(costs.length > 0 ? "unknown" : alike(rates, equalWidth));
  if (!nodes.includes(sysfsNode)) return verdict("unmeasured");
  if (costs.some(({ node }) => node === sysfsNode)) return verdict("wrong");
  return verdict(costs.length > 0 ? "right" : alike(rates, equalWidth));
}

/** Sum of the logarithms of the ratios: above 0 if the first node is faster on the whole. */
function gainOver(compared: readonly NodePair[]): number {
  return compared.reduce((sum, { ratio }) => sum + Math.log(ratio.median), 0);
}

function alike(rates: readonly NodeRate[], equalWidth: number): "equal" | "open" {
  const isNarrow = ({ rate: { median, low, high } }: NodeRate) => (high - low) / 2 / median <= equalWidth;
  return rates.every(isNarrow) ? "equal" : "open";
}
