// The 104 scenarios: fleet sizes, GPUs per node, kinds with and without a recorded reference, and faults.

const each = (...lists) =>
  lists.reduce((all, list) => all.flatMap((one) => list.map((item) => [...one, item])), [[]]);

const less = (loss, applies) => (node, gpu, memory) => (applies(node, gpu, memory) ? 1 - loss : 1);
const percent = (loss) => `-${Math.round(100 * loss)} %`;
const healthy = () => 1;
const victim = 1;

const healthyOnes = each([2, 3, 4, 8, 12, 32, 100, 200], [1, 8], [0.003, 0.01]).map(
  ([count, gpus, apart]) => ({
    ...{
      name: `healthy, machines ${100 * apart} % apart`,
      count,
      gpus,
      apart,
      speed: healthy,
      slow: () => false,
    },
  }),
);

const heavyOnes = each([2, 4, 8, 32, 100, 200], [1, 8]).map(([count, gpus]) => ({
  ...{ name: "healthy, heavy tails", count, gpus, isHeavy: true, speed: healthy, slow: () => false },
}));

const isVictim = (node) => node === victim;
const oneGpu = each([2, 4, 12, 100], [0.05, 0.1, 0.2, 0.5]).map(([count, loss]) => ({
  ...{ name: `one GPU, pinned ${percent(loss)}`, count, gpus: 8, slow: isVictim },
  speed: less(loss, (node, gpu, memory) => node === victim && gpu === 3 && memory === "pinned"),
}));

const oneNode = (memory, sizes, gpus, losses) =>
  each(sizes, losses).map(([count, loss]) => ({
    ...{ name: `one node, ${memory} ${percent(loss)}`, count, gpus, slow: isVictim },
    speed: less(loss, (node, _, copied) => node === victim && copied === memory),
  }));

const pairs = [1, 8].map((gpus) => ({
  ...{
    name: "one of two nodes, everything -20 %",
    count: 2,
    gpus,
    slow: isVictim,
    speed: less(0.2, isVictim),
  },
}));

const part = (name, count, slowNodes, loss, driver) => {
  const slow = (node) => node < slowNodes;
  return {
    ...{
      name: `${name}: ${slowNodes} of ${count} ${percent(loss)}`,
      count,
      gpus: 8,
      slow,
      speed: less(loss, slow),
    },
    ...(driver && { driver: (node) => (slow(node) ? "570" : "580") }),
  };
};

const slots = [4, 24, 100].map((count) => ({
  ...{ name: "slot 5 of all nodes, pinned -20 %", count, gpus: 8, slow: () => false, isKnown: false },
  speed: less(0.2, (_, gpu, memory) => gpu === 5 && memory === "pinned"),
}));

export const scenarios = [
  ...healthyOnes,
  ...heavyOnes,
  ...oneGpu,
  ...oneNode("pinned", [3, 8, 32, 200], 8, [0.05, 0.1, 0.2, 0.5]),
  ...oneNode("pinned", [4, 12, 100], 1, [0.1, 0.5]),
  ...oneNode("pageable", [8, 32, 100], 8, [0.2, 0.3, 0.5]),
  ...pairs,
  ...each([8, 24], [0.1, 0.5]).map(([count, loss]) => part("a half", count, count / 2, loss)),
  part("a driver", 24, 7, 0.2, true),
  part("a driver", 24, 10, 0.2, true),
  part("a driver", 24, 8, 0.5, true),
  part("a driver", 200, 60, 0.1, true),
  ...slots,
].map((scenario, index) => ({ apart: 0.003, isHeavy: false, isKnown: index % 2 === 0, ...scenario }));
