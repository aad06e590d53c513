// Runs a folder's tests once and records which mutants each test reaches. Then activates one mutant after the other,
// and runs the tests that reach it, quickest first, until one fails. Writes each verdict as a line, so that after a
// hang the next process continues behind that mutant.
import { appendFileSync, readFileSync } from "node:fs";
import { TestRunner } from "vitest";

const { PINBENCH_MUTATED_RECORDS: records, PINBENCH_MUTATED_AT_LOAD: mutantAtLoad } = process.env;
const fileCount = Number(process.env.PINBENCH_MUTATED_TEST_FILES);

/** A mutant reached more than this many times as often as without it counts as an endless loop. */
const mostHits = 10;

/**
 * A test that reaches mutants more often than this tries none, because each would take seconds; what only it would
 * notice counts as not noticed. Unlike a time limit, this gives the same result on every machine.
 */
const mostReached = 5_000_000;

class ComputesForLong extends Error {}

/** CPU time of this process in ms, independent of the machine's load. */
function computedMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The state behind the instrumented sources. One process runs all files, each with its own runner. */
globalThis.__mutants__ ??= {
  /** How often the current test or file reaches each mutant; null outside. */
  reached: null,
  countsLeft: Number.POSITIVE_INFINITY,
  count(id) {
    if (--this.countsLeft < 0) throw new ComputesForLong("a test that computes for long");
    this.reached.set(id, (this.reached.get(id) ?? 0) + 1);
  },
  active: mutantAtLoad,
  hitsLeft: Number.POSITIVE_INFINITY,
  act() {
    if (--this.hitsLeft < 0) throw new Error("a loop without end");
    return true;
  },
  tests: [],
  reachedAtLoad: new Map(),
  files: 0,
  lastTest: null,
};
const mutants = globalThis.__mutants__;

const record = (line) => appendFileSync(records, `${JSON.stringify(line)}\n`);

export default class MutationRunner extends TestRunner {
  onCollectStart(file) {
    super.onCollectStart?.(file);
    // Mutants reached while a test file loads cannot be reached again.
    if (mutantAtLoad === undefined) mutants.reached = mutants.reachedAtLoad;
  }

  onCollected(files) {
    mutants.reached = null;
    if (++mutants.files === fileCount) mutants.lastTest = files.flatMap(testsOf).at(-1);
  }

  async runTask(test) {
    const run = TestRunner.getTestFn(test);
    if (mutantAtLoad !== undefined) return run();
    const name = `${test.file.name}: ${test.suite?.name ?? ""} ${test.name}`;
    await this.#reach(test, name, run);
    // Runs inside a test, because `onTestFinished()` and similar functions work nowhere else.
    if (test === mutants.lastTest) await tryMutants();
  }

  /** Runs a test, and records which mutants it reaches. */
  async #reach(test, name, run) {
    const reached = new Map();
    mutants.reached = reached;
    mutants.countsLeft = mostReached;
    const start = computedMs();
    try {
      await run();
    } catch (error) {
      // The test must still end, because a later one may await its result.
      if (error instanceof ComputesForLong) mutants.countsLeft = -1;
      if (mutants.countsLeft >= 0) throw error;
    } finally {
      mutants.reached = null;
    }
    const isLong = mutants.countsLeft < 0;
    mutants.countsLeft = Number.POSITIVE_INFINITY;
    if (isLong) record({ status: "long", id: name });
    else mutants.tests.push({ name, run: () => withHooks(test, run), ms: computedMs() - start, reached });
  }
}

const testsOf = (task) =>
  task.type === "test" ? (task.mode === "run" ? [task] : []) : task.tasks.flatMap(testsOf);

/** Runs a test again with its file's hooks, such as a temporary folder or a stopped clock. */
async function withHooks(test, run) {
  const hooks = TestRunner.getSuiteHooks(test.file);
  for (const hook of hooks.beforeEach) await hook(test.context, test.file);
  try {
    await run();
  } finally {
    for (const hook of hooks.afterEach) await hook(test.context, test.file);
  }
}

async function passes({ run }) {
  try {
    await run();
    return true;
  } catch {
    return false;
  }
}

/** Whether a test fails with a mutant. */
async function notices(test, id) {
  mutants.active = id;
  mutants.hitsLeft = test.reached.get(id) * mostHits + 300;
  const isNoticed = !(await passes(test));
  mutants.active = undefined;
  return isNoticed;
}

async function tryMutants() {
  const decided = new Set();
  for (const line of readFileSync(records, "utf8").split("\n").filter(Boolean)) {
    const { id, status } = JSON.parse(line);
    if (status !== "begun") decided.add(id);
  }
  const tests = [];
  for (const test of mutants.tests) {
    const first = test.reached;
    test.reached = new Map();
    mutants.reached = test.reached;
    const isRepeatable = await passes(test);
    mutants.reached = null;
    // A test that depends on an earlier one cannot be repeated, so its verdict would mean nothing.
    if (isRepeatable) tests.push(test);
    else record({ status: "unrepeatable", id: test.name });
    // Mutants reached only in the first run were reached while loading a file.
    for (const [id, times] of first) if (!test.reached.has(id)) mutants.reachedAtLoad.set(id, times);
  }
  tests.sort((a, b) => a.ms - b.ms);
  for (const id of JSON.parse(process.env.PINBENCH_MUTATED_IDS)) {
    if (decided.has(id)) continue;
    const reaching = tests.filter(({ reached }) => reached.has(id));
    const isAtLoad = mutants.reachedAtLoad.has(id);
    if (reaching.length === 0) {
      record({ status: isAtLoad ? "at load" : "not reached", id });
      continue;
    }
    record({ status: "begun", id });
    let by = null;
    for (const test of reaching) {
      if (!(await notices(test, id))) continue;
      by = test;
      break;
    }
    if (by === null) record({ status: isAtLoad ? "survived, also at load" : "survived", id });
    else record({ status: "killed", id, by: by.name });
    // A mutant may leave changed state in a module, so the next mutant needs a new process.
    if (by !== null && !(await passes(by))) {
      record({ status: "left something behind", id: by.name });
      process.kill(process.pid, "SIGKILL");
    }
  }
  record({ status: "done", id: "" });
}
