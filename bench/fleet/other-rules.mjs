// Other tools' rules for slow nodes, on the same tables of figures. Each returns the GPUs that it calls slow, as
// "node gpu".
/**
 * SuperBench's data-driven criteria (Y. Xiong et al., "SuperBench: Improving Cloud AI Infrastructure Reliability with
 * Proactive Validation", USENIX ATC 2024), with one figure for each GPU and cell: samples less than 95 % similar to the most central
 * one are left out, until none is. A GPU slower than the remaining centre and less than 95 % similar to it is defective. The
 * similarity of two figures is 1 minus their difference over the larger one; the most central figure is the median.
 */
export function superBench(nodes) {
  return slowOnes(nodes, (figures) => {
    let kept = figures;
    for (;;) {
      const centre = mostCentral(kept);
      const near = kept.filter((one) => similarity(one, centre) >= leastSimilarity);
      if (near.length === kept.length)
        return (one) => one < centre && similarity(one, centre) < leastSimilarity;
      kept = near;
    }
  });
}

/** The median sample; with an even number, the upper of the middle two. */
const mostCentral = (figures) => Float64Array.from(figures).sort()[Math.floor(figures.length / 2)];

const leastSimilarity = 0.95;
const similarity = (a, b) => 1 - Math.abs(a - b) / Math.max(a, b);

/** Slow if below a share of a reference, which is fixed for each cell. */
export function fixedThreshold(nodes, references, loss) {
  return slowOnes(nodes, (_, key) => (one) => one < (1 - loss) * references.get(key));
}

function slowOnes(nodes, ruleOf) {
  const slow = new Set();
  for (const key of nodes[0].devices[0].figures.keys()) {
    const figures = nodes.flatMap(({ devices }) => devices.map((device) => device.figures.get(key)));
    const isSlow = ruleOf(figures, key);
    for (const [node, { devices }] of nodes.entries()) {
      for (const [gpu, device] of devices.entries())
        if (isSlow(device.figures.get(key))) slow.add(`${node} ${gpu}`);
    }
  }
  return slow;
}
