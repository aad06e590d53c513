// Worlds of noise: deviations of a cell's median by session and by run, as logarithms of speed. They are invented, and
// none of them equals the prior of src/compare/noise.ts.
import { normalsOf } from "../lib/random.mjs";

/** Logarithms of the usual speeds in GB/s, by memory. */
const levels = { pinned: Math.log(55), pageable: Math.log(11), staged: Math.log(25), host: Math.log(12) };

/** Number of runs until a machine is warm, and the loss of device copies as a share of the other copies' loss. */
const warmUp = { runs: 4, shareOfDevice: 0.3 };

/** Share of the noise between sessions that CPU copies and host memory have in common. */
const commonWithHost = 0.9;

/** Upper end of heavy tails, in standard deviations: runs are far slower than usual, never far faster. */
const fastest = 1.5;

/**
 * The worlds by name. Noise of `device` (pinned copies) and `cpu` (all others), as standard deviations: `runs` of a
 * cell in a run, `sharedRuns` of all cells of a memory in a run (with lag-1 correlation `lag`), `sharedSessions` of
 * these in a session, and `sessions` of a cell in a session.
 */
export const worlds = {
  // A server without other users.
  quiet: {
    device: { runs: 0.0005, sharedRuns: 0.0002, sharedSessions: 0.001, sessions: 0.001 },
    cpu: { runs: 0.02, sharedRuns: 0.01, sharedSessions: 0.03, sessions: 0.02 },
    lag: 0.4,
  },
  desktop: {
    device: { runs: 0.004, sharedRuns: 0.002, sharedSessions: 0.005, sessions: 0.004 },
    cpu: { runs: 0.03, sharedRuns: 0.02, sharedSessions: 0.04, sessions: 0.02 },
    lag: 0.6,
  },
  // Sessions vary more than the prior assumes: by 1 % and 8 %.
  cloud: {
    device: { runs: 0.003, sharedRuns: 0.002, sharedSessions: 0.01, sessions: 0.005 },
    cpu: { runs: 0.05, sharedRuns: 0.04, sharedSessions: 0.08, sessions: 0.03 },
    lag: 0.8,
  },
  "heavy tails": {
    device: { runs: 0.001, sharedRuns: 0.0005, sharedSessions: 0.002, sessions: 0.002 },
    cpu: { runs: 0.02, sharedRuns: 0.01, sharedSessions: 0.03, sessions: 0.02 },
    lag: 0.4,
    hasTails: true,
  },
  // In three of ten sessions pinned copies lose 4 %, as with link power saving or a lower GPU clock.
  "bimodal by session": {
    device: { runs: 0.0005, sharedRuns: 0.0002, sharedSessions: 0.001, sessions: 0.001 },
    cpu: { runs: 0.02, sharedRuns: 0.01, sharedSessions: 0.03, sessions: 0.02 },
    lag: 0.4,
    slowSessions: { chance: 0.3, device: -0.04, cpu: 0 },
  },
  // Every session loses 2 % while the machine warms up.
  "thermal drift": {
    device: { runs: 0.001, sharedRuns: 0.0005, sharedSessions: 0.001, sessions: 0.001 },
    cpu: { runs: 0.02, sharedRuns: 0.01, sharedSessions: 0.02, sessions: 0.01 },
    lag: 0.4,
    warmLoss: 0.02,
  },
  // In three of ten sessions copies by the CPU lose 10 %, as with a lower CPU clock.
  "steps of frequency": {
    device: { runs: 0.0005, sharedRuns: 0.0002, sharedSessions: 0.001, sessions: 0.001 },
    cpu: { runs: 0.015, sharedRuns: 0.008, sharedSessions: 0.02, sessions: 0.01 },
    lag: 0.4,
    slowSessions: { chance: 0.3, device: 0, cpu: -0.105 },
  },
  // Speeds are multiples of 1 % of the usual one.
  "coarse timer": {
    device: { runs: 0.003, sharedRuns: 0.001, sharedSessions: 0.001, sessions: 0.001 },
    cpu: { runs: 0.02, sharedRuns: 0.01, sharedSessions: 0.02, sessions: 0.01 },
    lag: 0.4,
    step: 0.01,
  },
};

/** A value of Student's t with 3 degrees of freedom. */
const heavy = (normal) => normal() / Math.sqrt((normal() ** 2 + normal() ** 2 + normal() ** 2) / 3);

/** Logarithms of the cells' medians in `count` runs of one session: [run][cell]. */
export function sessionOf(world, cells, count, random) {
  const normal = normalsOf(random);
  const noiseOf = (memory) => (memory === "pinned" ? world.device : world.cpu);
  const { chance = 0, device: slowDevice = 0, cpu: slowCpu = 0 } = world.slowSessions ?? {};
  const isSlow = random() < chance;
  const ofHost = normal();
  const own = Math.sqrt(1 - commonWithHost ** 2);
  const shared = {};
  const ofSession = {};
  for (const memory of new Set(cells.map((cell) => cell.memory))) {
    const { sharedRuns, sharedSessions } = noiseOf(memory);
    const isDevice = memory === "pinned";
    const deviation = isDevice ? normal() : commonWithHost * ofHost + own * normal();
    const loss = isSlow ? (isDevice ? slowDevice : slowCpu) : 0;
    ofSession[memory] = levels[memory] + sharedSessions * deviation + loss;
    shared[memory] = sharedRuns * normal();
  }
  const ofCell = cells.map(({ memory }) => noiseOf(memory).sessions * normal());
  return Array.from({ length: count }, (_, run) => {
    for (const memory of Object.keys(shared)) {
      const innovation = Math.sqrt(1 - world.lag ** 2) * noiseOf(memory).sharedRuns;
      shared[memory] = world.lag * shared[memory] + innovation * normal();
    }
    const warmth = (world.warmLoss ?? 0) * (1 - Math.exp(-run / warmUp.runs));
    return cells.map(({ memory }, i) => {
      const deviation = world.hasTails ? Math.min(heavy(normal), fastest) : normal();
      const cooling = warmth * (memory === "pinned" ? warmUp.shareOfDevice : 1);
      const value =
        ofSession[memory] + ofCell[i] + shared[memory] + noiseOf(memory).runs * deviation - cooling;
      return world.step === undefined ? value : rounded(value, levels[memory], world.step);
    });
  });
}

function rounded(value, level, step) {
  return level + Math.log(Math.round(Math.exp(value - level) / step) * step);
}
