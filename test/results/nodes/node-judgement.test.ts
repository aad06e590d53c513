import { describe, expect, it } from "vitest";
import { figureInterval, leastDifference } from "../../../src/results/figure-interval.js";
import { areElsewhere, judgeNodes, type NodeRate } from "../../../src/results/nodes/node-rates.js";
import { distribution } from "../../../src/stats/order-statistics.js";
import { seeded } from "../../helpers/seeded.js";

const conditions = ["h2d alone", "h2d at once", "d2h alone", "d2h at once"];

/** A random machine: the true rates of a device with each node, and the node that sysfs names. */
function randomMachine(seed: number) {
  const { uniform, normal } = seeded(seed);
  const below = (count: number) => Math.floor(uniform() * count);
  const count = 2 + below(7);
  const near = below(count);
  const isFlat = uniform() < 0.2;
  /** Factors on the duration of copies; the link often hides them if a device copies alone. */
  const factors = Array.from({ length: count }, (_, node) => {
    const factor = node === near || isFlat ? 1 : 1.08 + 1.4 * uniform();
    const alone = uniform() < 0.5 ? 1 : factor;
    return conditions.map((name) => (name.endsWith("at once") ? factor : alone));
  });
  const lie = (near + 1 + below(count - 1)) % count;
  const sysfsNode = uniform() < 0.25 ? null : uniform() < 0.5 ? near : lie;
  const noise = 0.001 + 0.01 * uniform();
  const fullGBps = 10 + 50 * uniform();
  const rates = factors.flatMap((ofNode, node) =>
    conditions.map((condition, i): NodeRate => {
      const samples = Array.from(
        { length: 12 + below(30) },
        () => (fullGBps / ofNode[i]!) * (1 + noise * normal()),
      );
      return { node, condition, rate: figureInterval(distribution(samples))! };
    }),
  );
  return { near, isFlat, factors, sysfsNode, rates, count };
}

describe("on 200 random machines", () => {
  const machines = Array.from({ length: 200 }, (_, seed) => randomMachine(seed));
  const judged = machines.map((machine) => ({
    ...machine,
    verdict: judgeNodes(machine.rates, machine.sysfsNode)!,
  }));

  it("the near NUMA node is found, and every other one is called slower", () => {
    for (const { near, isFlat, count, verdict } of judged.filter((one) => !one.isFlat)) {
      expect(isFlat).toBe(false);
      expect(verdict.best).toBe(near);
      expect(verdict.costs).toHaveLength(count - 1);
    }
  });

  it("no NUMA node is called slower if all are alike", () => {
    const flat = judged.filter(({ isFlat }) => isFlat);
    expect(flat.length).toBeGreaterThan(20);
    for (const { verdict } of flat) expect(verdict).toMatchObject({ costs: [], isOpen: false });
  });

  it("a NUMA node's true cost lies within its interval as often as 95 % intervals must", () => {
    const costs = judged.flatMap(({ factors, near, verdict }) =>
      verdict.costs.map((cost) => {
        const i = conditions.indexOf(cost.condition);
        return { ...cost.ratio, factor: factors[cost.node]![i]! / factors[near]![i]! };
      }),
    );
    const missed = costs.filter(({ low, high, factor }) => factor < low || factor > high);
    expect(costs.length).toBeGreaterThan(300);
    expect(missed.length / costs.length).toBeLessThan(0.06);
    for (const { median } of costs) expect(median).toBeGreaterThanOrEqual(leastDifference);
  });
});

const rate = (node: number, median: number, condition = "h2d", halfWidth = 0.01): NodeRate => ({
  node,
  condition,
  rate: { median, low: median * (1 - halfWidth), high: median * (1 + halfWidth) },
});

describe("the verdict on a device's NUMA nodes", () => {
  it("is absent for a single node", () => {
    expect(judgeNodes([rate(0, 50)], 0)).toBeNull();
  });

  it("is based on the condition in which a node costs most", () => {
    const verdict = judgeNodes([rate(0, 50), rate(1, 49), rate(0, 50, "at once"), rate(1, 25, "at once")], 1);
    expect(verdict).toMatchObject({ best: 0, costs: [{ node: 1, condition: "at once" }] });
  });

  it("calls no node slower that is faster in another condition", () => {
    expect(judgeNodes([rate(0, 50), rate(1, 25), rate(0, 25, "d2h"), rate(1, 50, "d2h")], 0)?.costs).toEqual(
      [],
    );
  });

  it("stays open if intervals are wide", () => {
    expect(judgeNodes([rate(0, 50, "h2d", 0.2), rate(1, 45, "h2d", 0.2)], 0)).toMatchObject({
      isOpen: true,
      costs: [],
    });
  });

  it("calls nodes equal if intervals rule out a difference of 10 %", () => {
    const alike = [rate(0, 50, "h2d", 0.04), rate(1, 50, "h2d", 0.04)];
    expect(judgeNodes(alike, 0)).toMatchObject({ isOpen: false });
    const wider = [rate(0, 50, "h2d", 0.08), rate(1, 50, "h2d", 0.08)];
    expect(judgeNodes(wider, 0)).toMatchObject({ isOpen: true });
  });

  it("prefers a node that is never clearly slower to one that is a little faster on average", () => {
    const ofNodes = (condition: string, ...medians: number[]) =>
      medians.map((median, node) => rate(node, median, condition, 0.001));
    const little = ["d2h", "at once", "d2h at once"].flatMap((condition) => ofNodes(condition, 50, 49));
    expect(judgeNodes([...ofNodes("h2d", 50, 53), ...little], null)).toMatchObject({
      ...{ best: 1, costs: [{ node: 0, condition: "h2d" }] },
    });
  });

  it("keeps the node that sysfs names if it is as fast as the fastest", () => {
    expect(judgeNodes([rate(0, 50.1), rate(1, 50), rate(2, 30)], 1)).toMatchObject({ best: 1 });
  });

  it("exists even if the node that sysfs names was not measured", () => {
    expect(judgeNodes([rate(0, 50), rate(1, 30)], 7)).toMatchObject({ best: 0, isOpen: false });
  });
});

describe("pages of memory", () => {
  const areOfNode = (there: number, others: number) =>
    areElsewhere(
      [
        { node: 0, pages: others },
        { node: 1, pages: there },
      ],
      1,
    );

  it("count as misplaced if less than 95 % are on the requested node, and as unknown without any", () => {
    expect(areOfNode(100, 0)).toBe(false);
    expect(areOfNode(95, 5)).toBe(false);
    expect(areOfNode(94, 6)).toBe(true);
    expect(areElsewhere([{ node: 0, pages: 100 }], 1)).toBe(true);
    expect(areOfNode(0, 0)).toBeNull();
  });
});
