// Runs the tests of a folder once, and keeps which mutants each of them reaches; then, with one mutant after the other
// switched on, those tests again until one fails, the quickest first. Every verdict is a line of a file, so that a run
// that hangs in a mutant can be ended and gone on with behind it.
import { appendFileSync, readFileSync } from "node:fs";
import { TestRunner } from "vitest";

const { PINBENCH_MUTATED_RECORDS: records, PINBENCH_MUTATED_AT_LOAD: mutantAtLoad } = process.env;
const fileCount = Number(process.env.PINBENCH_MUTATED_TEST_FILES);

/** How often a mutant may be reached, of the times that its code is without it, before it is a loop without end. */
const mostHits = 10;

/**
 * A test that reaches mutants more often tries none, as each would take it seconds: what it alone would notice counts as
 * not noticed. Unlike a time this is the same on every machine.
 */
const mostReached = 5_000_000;

class ComputesForLong extends Error {}

/** Milliseconds that this process has computed, however loaded the machine is. */
function computedMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** What the instrumented sources call; one process runs all files, each with a runner of its own. */
globalThis.__mutants__ ??= {
  /** Of the test or the file that is watched, how often it reaches each mutant; null while none is. */
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
    // What loading a test file reaches cannot be reached again.
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
    // Within a test, as `onTestFinished()` and its like may be called nowhere else.
    if (test === mutants.lastTest) await tryMutants();
  }

  /** Runs a test, and keeps which mutants it reaches. */
  async #reach(test, name, run) {
    const reached = new Map();
    mutants.reached = reached;
    mutants.countsLeft = mostReached;
    const start = computedMs();
    try {
      await run();
    } catch (error) {
      // A later test may await what took an earlier one long.
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

/** Runs a test again with what its file does before and after each: a folder of its own, a clock that stands still. */
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
    // Of tests that go on from what an earlier one left, a second run says nothing.
    if (isRepeatable) tests.push(test);
    else record({ status: "unrepeatable", id: test.name });
    // What only the first run reached was in a file that it loaded.
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
    // What a mutant left behind in a module must not be taken for the next one's doing: another process goes on.
    if (by !== null && !(await passes(by))) {
      record({ status: "left something behind", id: by.name });
      process.kill(process.pid, "SIGKILL");
    }
  }
  record({ status: "done", id: "" });
}
