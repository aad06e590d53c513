// Emulated devices with several causes at once, one of them the costliest; a seed makes them repeatable.
import { seededRandom } from "../lib/random.mjs";

/** Bandwidths of the best links of card and slot, in GB/s for 16 lanes. */
const limits = [
  { generation: 1, gigabytes: 4 },
  { generation: 2, gigabytes: 8 },
  { generation: 3, gigabytes: 15.754 },
];

/** A rate in GB/s that emulated copies reach on a busy machine. */
const slowest = 0.9;

/** Causes that slow copies by a factor: what NVML reports, by cause. A link that lost lanes is separate. */
const disturbances = {
  "device-shared": () => ({ processes: `${process.pid}/1GiB`, utilization: 90 }),
  "clocks-held": (factor) => ({
    clockReasons: ["hw-thermal-slowdown"],
    ...{ smClockMHz: Math.floor(1980 / factor), maxSmClockMHz: 1980 },
  }),
  unexplained: () => ({}),
};

/** Facts that cost almost nothing. */
const bystanders = [{}, { replays: 100 }, { eccErrors: 3 }, { clockReasons: ["gpu-idle"] }];

/** `dominant` is a machine's costliest cause, `wantedGBps` its rate without any cause. */
export function madeUpMachines(count, seed) {
  const random = seededRandom(seed);
  const oneOf = (list) => list[Math.floor(random() * list.length)];
  const machines = [];
  while (machines.length < count) {
    const lanes = oneOf([1, 2, 4, 8]);
    const factor = oneOf([1.3, 1.5, 2, 3, 4, 6]);
    const [less, more] = [lanes, factor].sort((a, b) => a - b);
    // The costliest cause must be clearly first, and its share of the loss above a busy machine's noise.
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
      slowdown: factor,
      faults: [`all:slow=${factor}`],
      linkGBps: gigabytes / lanes,
      wantedGBps: gigabytes,
      dominant: lanes > factor ? "link-narrow" : cause,
    });
  }
  return machines;
}
