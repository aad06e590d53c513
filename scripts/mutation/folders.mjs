// The folders that `npm run mutate` knows: which files get mutants, and which tests have to notice them. Only functions
// that compute are mutated, and only tests that start no process run: each mutant runs them again.
import { existsSync, readdirSync } from "node:fs";
import { ScriptError } from "../lib/process.mjs";
import { inRoot } from "../lib/project.mjs";

/** Mutators that are left out everywhere: texts for people are held by the snapshots of test/report. */
export const excludedMutations = ["StringLiteral"];

/** Asynchronous functions and methods are left out everywhere: they measure, read or wait, and the others compute. */
export const ignorers = [
  { shouldIgnore: (path) => (path.isFunction() && path.node.async ? "It does not compute." : undefined) },
];

/** All files of a folder. */
const all = null;

const pools = ["recommend-pool", "pool-shapes", "refusal-reason", "pool-observations"];

/**
 * By folder, which of its files, without their endings, and whether each file of tests has to have a process of its own.
 */
const chosen = {
  stats: { sources: { "src/stats": all }, tests: { "test/stats": all } },
  settings: { sources: { "src/settings": all }, tests: { "test/settings": all } },
  plan: { sources: { "src/plan": all }, tests: { "test/plan": all } },
  pools: { sources: { "src/pin": pools }, tests: { "test/pin": pools } },
  compare: {
    sources: { "src/compare": all },
    tests: { "test/compare": all },
  },
  history: {
    sources: {
      "src/compare/history": ["check-record", "history-series", "read-trend", "trends"],
    },
    tests: { "test/compare": ["check-record", "trends"] },
  },
  tune: {
    sources: {
      "src/tune": ["machine-limits"],
      "src/tune/search": all,
    },
    tests: {
      "test/tune": ["machine-limits", "ranked-probe"],
      "test/tune/search": all,
    },
  },
  explain: {
    sources: { "src/explain": ["run-figures"], "src/explain/questions": all },
    // Without too-much-pinned, which replaces modules.
    tests: { "test/explain": ["run-figures", "torch-verdicts", "questions"] },
  },
  doctor: {
    sources: {
      "src/doctor": ["diagnose", "examined-device"],
      "src/doctor/causes": all,
      "src/doctor/facts": all,
    },
    tests: { "test/doctor": all },
    // The tests of a file have one tree of files, which goes when they have ended.
    apart: true,
  },
  fleet: {
    sources: {
      "src/fleet": [
        ...[
          "absolute-rule",
          "copy-series",
          "incomplete-nodes",
          "judge-fleet",
          "judge-group",
          "judge-results",
        ],
        ...["node-figures", "node-groups", "read-fleet", "relative-rule"],
      ],
    },
    // Without those that start launchers.
    tests: {
      "test/fleet": [
        "incomplete-nodes",
        "joined-results",
        "node-figures",
        "read-fleet",
        "rules",
        "site-reference",
      ],
    },
  },
};

export const folderNames = Object.keys(chosen);

/** Paths of the files that get mutants, and of the tests; whether files of tests run apart. */
export function filesOf(name) {
  const { sources, tests, apart = false } = chosen[name];
  return { sources: filesIn(sources, ".ts"), tests: filesIn(tests, ".test.ts"), apart };
}

/** Paths of these files. Throws if one does not exist: a renamed file would lose its mutants without a word. */
export function filesIn(folders, ending) {
  return Object.entries(folders).flatMap(([folder, names]) => {
    const there = existsSync(inRoot(folder)) ? readdirSync(inRoot(folder)) : [];
    const files =
      names === all ? there.filter((file) => file.endsWith(ending)) : names.map((name) => name + ending);
    const missing = files.length === 0 ? `*${ending}` : files.find((file) => !there.includes(file));
    if (missing === undefined) return files.map((file) => inRoot(folder, file));
    throw new ScriptError(
      `scripts/mutation/folders.mjs chooses ${folder}/${missing}, which does not exist: was it renamed?`,
    );
  });
}
