// Emulated devices with several causes at once, of which one takes most: made by a seed, so that all are the same again.
import { seededRandom } from "../lib/random.mjs";

/** What GB/s the links carry that card and slot could have together, of 16 lanes each. */
const limits = [
  { generation: 1, gigabytes: 4 },
  { generation: 2, gigabytes: 8 },
  { generation: 3, gigabytes: 15.754 },
];

/** A rate that a busy machine keeps up with. */
const slowest = 0.9;

/** Causes that make copies F times as slow beside a link that lost lanes: what NVML says of them, and their name. */
const disturbances = {
  "device-shared": () => ({ processes: [{ pid: process.pid, memory: "1GiB" }], utilization: 90 }),
  "clocks-held": (factor) => ({
    clockReasons: ["hw-thermal-slowdown"],
    ...{ smClockMHz: Math.floor(1980 / factor), maxSmClockMHz: 1980 },
  }),
  unexplained: () => ({}),
};

/** What is true of a machine as well, and costs next to nothing. */
const bystanders = [
  {},
  { replays: 100, replaysPerGiB: 8 },
  { eccErrors: 3 },
  { memoryClockMHz: 2619, maxMemoryClockMHz: 2619, clockReasons: ["gpu-idle"] },
];

/** So many machines, each with `dominant`, the cause that takes most, and `wanted`, what it would reach without any. */
export function madeUpMachines(count, seed) {
  const random = seededRandom(seed);
  const oneOf = (list) => list[Math.floor(random() * list.length)];
  const machines = [];
  while (machines.length < count) {
    const lanes = oneOf([1, 2, 4, 8]);
    const factor = oneOf([1.3, 1.5, 2, 3, 4, 6]);
    const [less, more] = [lanes, factor].sort((a, b) => a - b);
    // Which takes more must be beyond doubt, and its share of the loss beyond what a busy machine adds.
    const isClear = Math.log(more) > 1.4 * Math.log(less) && Math.log(more) > 0.25;
    const limit = limits.findLast(({ gigabytes }) => gigabytes / lanes / factor >= slowest) ?? limits[0];
    if (!isClear || limit.gigabytes / lanes / factor < slowest / 2) continue;
    const cause = oneOf(Object.keys(disturbances));
    const { generation, gigabytes } = limit;
    machines.push({
      name: `x${16 / lanes} of x16, ${factor} times as slow (${cause})`,
      nvml: {
        ...oneOf(bystanders),
        ...{ generation, width: 16 / lanes, maxGeneration: generation, maxWidth: 16 },
        ...disturbances[cause](factor),
      },
      faults: [{ link: "all", slowdown: factor }],
      linkGBps: gigabytes / lanes,
      wantedGBps: gigabytes,
      dominant: lanes > factor ? "link-narrow" : cause,
    });
  }
  return machines;
}
