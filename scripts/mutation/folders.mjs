// The folders that `npm run mutate` knows: which files get mutants, and which tests have to notice them. Only functions
// that compute are mutated, and only tests that start no process run: each mutant runs them again.
import { readdirSync } from "node:fs";
import { inRoot } from "../lib/project.mjs";

/** Mutators that are left out everywhere: texts for people are held by the snapshots of test/report. */
export const excludedMutations = ["StringLiteral"];

/** Asynchronous functions and methods are left out everywhere: they measure, read or wait, and the others compute. */
export const ignorers = [
  { shouldIgnore: (path) => (path.isFunction() && path.node.async ? "It does not compute." : undefined) },
];

const all = /./;

/**
 * By folder, which of its files, without their endings; of tests that would take most of the time, which try no
 * mutants; and whether each file of tests has to have a process of its own.
 */
const chosen = {
  stats: {
    sources: { "src/stats": all },
    tests: { "test/stats": all },
    // They fit thousands of points, or twenty courses each.
    slow: /very many points|with noise of|without a change|does not hide|where it is small/,
  },
  settings: { sources: { "src/settings": all }, tests: { "test/settings": all } },
  plan: {
    sources: { "src/plan": all },
    tests: { "test/plan": all },
    // They plan tens of thousands of cells.
    slow: /more than 20 000 cells|126000 cells/,
  },
  pools: {
    sources: {
      "src/pin": /^(recommend-pool|pool-shapes|refusal-reason|largest-amount|pool-observations)$/,
    },
    tests: { "test/pin": /^(recommend-pool|pool-shapes|refusal-reason|largest-amount|pool-observations)$/ },
  },
  compare: { sources: { "src/compare": all }, tests: { "test/compare": all } },
  tune: {
    sources: {
      "src/tune":
        /^(epoch-cost|machine-limits|open-wait|pooled-score|score|steady-state|storage-reads|trials)$/,
      "src/tune/search": all,
    },
    tests: {
      "test/tune":
        /^(choice|confirmation|epoch-cost|estimator|grid|live-search|machine-limits|next-setting|open-wait|pooled-score|ranked-probe|rate-bounds|recommend|score|search|search-(by-hand|steps)|steady-state|stopping|storage-reads|trials|waiting)$/,
    },
    // They simulate searches by the hundred, or long trials.
    slow: /simulated loaders|the same holds|is called again chooses|disturbance of one trial|loaders at random/,
  },
  explain: {
    sources: { "src/explain": /^(run-figures|figure-text)$/, "src/explain/questions": all },
    tests: { "test/explain": /^(run-figures|verdicts)$/, "test/explain/questions": all },
  },
  doctor: {
    sources: {
      "src/doctor": /^(diagnose|examined-device|expectation)$/,
      "src/doctor/causes": all,
      "src/doctor/facts": all,
    },
    tests: { "test/doctor": all },
    // The tests of a file have one tree of files, which goes when they have ended.
    apart: true,
  },
  fleet: {
    sources: {
      "src/fleet":
        /^(actions|cell-levels|confirm-outliers|figure-noise|join-results|judge-(fleet|group|results)|kind-levels|node-(figures|groups)|outlier-evidence|reference-share|shared-traits|site-reference|slow-places)$/,
    },
    // Without simulated-fleets, which judges hundreds of fleets, and those that start launchers.
    tests: {
      "test/fleet":
        /^(cell-levels|cells-in-blocks|figure-noise|judge-fleet|levels|node-(figures|groups)|read-fleet|shared-traits|site-reference|slow-since|joined-results|outlier-evidence|references|[a-z]+-by-hand)$/,
    },
  },
};

export const folderNames = Object.keys(chosen);

/** Paths of the files that get mutants, and of the tests; a pattern of the names of slow tests; whether files run apart. */
export function filesOf(name) {
  const { sources, tests, slow, apart = false } = chosen[name];
  return { sources: filesIn(sources, ".ts"), tests: filesIn(tests, ".test.ts"), slow: slow?.source, apart };
}

function filesIn(folders, ending) {
  return Object.entries(folders).flatMap(([folder, pattern]) =>
    readdirSync(inRoot(folder))
      .filter((file) => file.endsWith(ending) && pattern.test(file.slice(0, -ending.length)))
      .map((file) => inRoot(folder, file)),
  );
}
