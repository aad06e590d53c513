// `npm run test:native`: the C++ tests, an executable without Node, plain and under the sanitizers, with warnings as
// errors. `-- --only plain|asan|tsan` runs one of them, `-- --tests '*barrier*'` the tests of such titles.
import { parseArgs } from "node:util";
import { buildPlain } from "./lib/native-build.mjs";
import { findProgram, main, run, ScriptError } from "./lib/process.mjs";
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
  },
};

/** ThreadSanitizer's runtime needs its part of the address space free, which much randomisation does not leave. */
function withoutRandomAddresses(command) {
  const setarch = findProgram("setarch");
  return setarch === null ? [command] : [setarch, "-R", command];
}

async function test(name, titles) {
  const { folder, options, env } = variants[name];
  console.log(`native tests: ${name}`);
  await buildPlain(
    folder,
    { CMAKE_BUILD_TYPE: "Release", PINBENCH_BUILD_TESTS: "ON", PINBENCH_WERROR: "ON", ...options },
    { quiet: true },
  );
  const executable = inRoot(folder, "native_tests");
  const [command, ...args] = name === "tsan" ? withoutRandomAddresses(executable) : [executable];
  await run(command, titles === undefined ? args : [...args, `--test-case=${titles}`], {
    env: { ...process.env, ...env },
  });
}

await main(async () => {
  const { only, tests } = parseArgs({
    options: { only: { type: "string" }, tests: { type: "string" } },
  }).values;
  if (only !== undefined && !(only in variants)) {
    throw new ScriptError(`--only takes ${Object.keys(variants).join(", ")}, not '${only}'.`);
  }
  for (const name of only === undefined ? Object.keys(variants) : [only]) await test(name, tests);
});
