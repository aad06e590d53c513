// The folders that `npm run mutate` knows: files that get mutants, and tests that must notice them. Mutates only
// functions that compute, and runs only tests that start no process, because each mutant runs them again.
import { existsSync, readdirSync } from "node:fs";
import { ScriptError } from "../lib/process.mjs";
import { inRoot } from "../lib/project.mjs";

/** Mutators that are never used: the snapshots of test/report cover texts for people. */
export const excludedMutations = ["StringLiteral"];

/** Ignores asynchronous functions and methods, which measure, read or wait rather than compute. */
export const ignorers = [
  { shouldIgnore: (path) => (path.isFunction() && path.node.async ? "It does not compute." : undefined) },
];

/** All files of a folder. */
const all = null;

const pools = ["recommend-pool", "pool-shapes", "refusal-reason", "pool-observations"];

/** By folder: its source and test files, without extensions. `apart`: each test file needs its own process. */
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
    // too-much-pinned replaces modules, so it is left out.
    tests: { "test/explain": ["run-figures", "torch-verdicts", "questions"] },
  },
  doctor: {
    sources: {
      "src/doctor": ["diagnose", "examined-device"],
      "src/doctor/causes": all,
      "src/doctor/facts": all,
    },
    tests: { "test/doctor": all },
    // Tests of one file share a tree of files, which is deleted after they end.
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
    // Tests that start launchers are left out.
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

/** Paths of the mutated files and of the tests, and whether each test file runs in its own process. */
export function filesOf(name) {
  const { sources, tests, apart = false } = chosen[name];
  return { sources: filesIn(sources, ".ts"), tests: filesIn(tests, ".test.ts"), apart };
}

/** Paths of these files. Throws if one does not exist: a renamed file would silently lose its mutants. */
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
