// `npm run check -- native`: runs the C++ tests without Node, plain and under the sanitizers, with warnings as errors.
// `--only plain|asan|tsan` runs one variant, `--tests '*barrier*'` the tests with matching titles. `--build` only
// compiles.
import { parseArgs } from "node:util";
import { buildPlain } from "./lib/native-build.mjs";
import { findProgram, forEachTwoAtOnce, main, run, ScriptError } from "./lib/process.mjs";
import { inRoot } from "./lib/project.mjs";

const variants = {
  plain: { folder: "build/native", options: { PINBENCH_BUILD_BENCH: "ON" }, env: {} },
  asan: {
    folder: "build/native-asan",
    options: { PINBENCH_SANITIZE: "address", PINBENCH_KERNELS: "OFF" },
    env: { UBSAN_OPTIONS: "print_stacktrace=1" },
  },
  tsan: {
    folder: "build/native-tsan",
    options: { PINBENCH_SANITIZE: "thread", PINBENCH_KERNELS: "OFF" },
    env: { TSAN_OPTIONS: "halt_on_error=1" },
    // These tests check data, which the other variants cover. Their threads are the same as in other tests.
    args: ["--test-case-exclude=*each wrong one to the same buffer*,*a block dropped*"],
  },
};

/** ThreadSanitizer needs a fixed part of the address space, which strong randomisation may occupy. */
function withoutRandomAddresses(command) {
  const setarch = findProgram("setarch");
  return setarch === null ? [command] : [setarch, "-R", command];
}

/** Most tests keep one CPU busy, so two ranges of tests run at a time, out of this many. */
const ranges = 24;

/** Runs the chosen tests; prints the output of a range only if a test failed. */
async function runTests(command, args, env) {
  const counted = await run(command, [...args, "--count"], { env, capture: true });
  const count = Number(/filters: (\d+)/.exec(counted)?.[1]);
  if (!(count > 0)) throw new ScriptError("There is no such test.");
  const bounds = Array.from({ length: ranges + 1 }, (_, i) => Math.round((i * count) / ranges));
  await forEachTwoAtOnce(
    bounds.slice(1).map((last, i) => [bounds[i] + 1, last]),
    async ([first, last]) => {
      if (first > last) return;
      await run(command, [...args, `--first=${first}`, `--last=${last}`], { env, quiet: true });
    },
  );
  console.log(`${count} native tests passed`);
}

async function build({ folder, options }) {
  await buildPlain(
    folder,
    { CMAKE_BUILD_TYPE: "Release", PINBENCH_BUILD_TESTS: "ON", PINBENCH_WERROR: "ON", ...options },
    { quiet: true },
  );
}

async function test(name, titles) {
  const { folder, env, args: chosen = [] } = variants[name];
  console.log(`native tests: ${name}`);
  const executable = inRoot(folder, "native_tests");
  const [command, ...args] = name === "tsan" ? withoutRandomAddresses(executable) : [executable];
  const all = [...args, ...chosen];
  await runTests(command, titles === undefined ? all : [...all, `--test-case=${titles}`], {
    ...process.env,
    ...env,
  });
}

await main(async () => {
  const {
    only,
    tests,
    build: onlyBuild,
  } = parseArgs({
    options: { only: { type: "string" }, tests: { type: "string" }, build: { type: "boolean" } },
  }).values;
  if (only !== undefined && !(only in variants)) {
    throw new ScriptError(`--only takes ${Object.keys(variants).join(", ")}, not '${only}'.`);
  }
  for (const name of only === undefined ? Object.keys(variants) : [only]) {
    await build(variants[name]);
    if (!onlyBuild) await test(name, tests);
  }
});
