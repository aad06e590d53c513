// Corrupted D2H copies: either every fifth copy is wrong, or copies are wrong at random with a seed per run. Counts how
// often `pinbench doctor --preset quick`, which verifies every copy, finds them.
import { seededRandom } from "../lib/random.mjs";

/** More copies than a diagnosis makes in one direction. */
const mostCopies = 20_000;

/** Faults that hit single copies, each with this probability. */
function byChance(probability, seed) {
  const random = seededRandom(seed);
  const numbers = Array.from({ length: mostCopies }, (_, i) => i + 1).filter(() => random() < probability);
  return numbers.map((number) => `d2h:flip:nth=${number}`);
}

const faults = [
  ["every fifth", (run) => [`d2h:flip:every=5:after=${run % 5}`], 1 / 5],
  ...[0.02, 0.05, 0.1].map((probability) => [
    `${probability * 100} % by chance`,
    (run) => byChance(probability, run + 1),
    probability,
  ]),
];

/** For each fault, over `runs` runs of `examine`: how often it was found, and how often that is expected. */
export async function corruptedCopies(runs, examine) {
  const results = [];
  for (const [name, faultsOf, share] of faults) {
    const result = { name, runs, found: 0, fewest: Number.POSITIVE_INFINITY, allProven: true, expected: 0 };
    for (let run = 0; run < runs; ++run) {
      const { findings, devices } = await examine({ faults: faultsOf(run) });
      const { made, proven, provenEachWay } = devices[0].copies;
      result.found += Number(findings.some(({ cause }) => cause === "wrong-data"));
      result.fewest = Math.min(result.fewest, provenEachWay);
      result.allProven &&= made === proven;
      // With random faults, all verified copies may be right by chance.
      result.expected += share === 1 / 5 ? 1 : 1 - (1 - share) ** provenEachWay;
    }
    results.push({ ...result, isRight: result.allProven && isAsExpected(result) });
  }
  return results;
}

/** Whether at least as many are found as expected, less three standard deviations. */
function isAsExpected({ found, expected, runs }) {
  const share = expected / runs;
  return found >= expected - 3 * Math.sqrt(runs * share * (1 - share)) - 1e-9;
}
