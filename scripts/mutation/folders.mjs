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
 * By folder, which of its files, without their endings, and whether each file of tests has to have a process of its own.
 */
const chosen = {
  stats: { sources: { "src/stats": all }, tests: { "test/stats": all } },
  settings: { sources: { "src/settings": all }, tests: { "test/settings": all } },
  plan: { sources: { "src/plan": all }, tests: { "test/plan": all } },
  pools: {
    sources: {
      "src/pin": /^(recommend-pool|pool-shapes|refusal-reason|largest-amount|pool-observations)$/,
    },
    tests: { "test/pin": /^(recommend-pool|pool-shapes|refusal-reason|largest-amount|pool-observations)$/ },
  },
  compare: {
    sources: { "src/compare": all, "src/compare/evidence": all },
    tests: { "test/compare": all },
  },
  history: {
    sources: {
      "src/compare/history": /^(check-record|course-of-points|courses|history-series|read-course)$/,
    },
    tests: {
      "test/compare": /^(check-record|courses|history-series|read-course|standing-loss)$/,
    },
  },
  tune: {
    sources: {
      "src/tune": /^(epoch-cost|machine-limits|score|trials)$/,
      "src/tune/search": all,
    },
    tests: {
      "test/tune":
        /^(choice|confirmation|epoch-cost|estimator|grid|live-search|machine-limits|next-setting|open-wait|pooled-score|ranked-probe|rate-bounds|recommend|score|search|search-(by-hand|steps)|steady-state|stopping|storage-reads|trials|waiting)$/,
    },
  },
  explain: {
    sources: { "src/explain": /^run-figures$/, "src/explain/questions": all },
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
        /^(cell-levels|confirm-outliers|figure-noise|judge-(fleet|group|results)|node-figures|read-fleet|reference-share|slow-places)$/,
    },
    // Without simulated-fleets, which judges hundreds of fleets, and those that start launchers.
    tests: {
      "test/fleet":
        /^(cell-levels|cells-in-blocks|figure-noise|judge-fleet|levels|node-(figures|groups)|read-fleet|shared-traits|site-reference|slow-since|joined-results|outlier-evidence|references|[a-z]+-by-hand)$/,
    },
  },
};

export const folderNames = Object.keys(chosen);

/** Paths of the files that get mutants, and of the tests; whether files of tests run apart. */
export function filesOf(name) {
  const { sources, tests, apart = false } = chosen[name];
  return { sources: filesIn(sources, ".ts"), tests: filesIn(tests, ".test.ts"), apart };
}

function filesIn(folders, ending) {
  return Object.entries(folders).flatMap(([folder, pattern]) =>
    readdirSync(inRoot(folder))
      .filter((file) => file.endsWith(ending) && pattern.test(file.slice(0, -ending.length)))
      .map((file) => inRoot(folder, file)),
  );
}
