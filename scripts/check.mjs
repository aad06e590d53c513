// `npm run check -- NAME [ARGUMENT…]`: a check that takes long, or needs more than Node and a compiler. Lists all
// without a NAME. Each file describes its arguments; `package` and `gpu` pass theirs to vitest.
import { inRoot } from "./lib/project.mjs";

const vitest = "node_modules/vitest/vitest.mjs";
const elsewhere = (project) => [
  vitest,
  "run",
  "--config",
  "vitest.elsewhere.config.ts",
  "--project",
  project,
];

/** A description of each check, and its program with the first arguments. */
const checks = {
  package: ["what npm, the wheel and the tarball install, on every Node", ...elsewhere("package")],
  gpu: ["the tests of test/gpu, on this machine's GPUs", ...elsewhere("gpu")],
  native: ["the C++ tests, plain and under sanitizers", "scripts/test-native.mjs"],
  asan: ["the Node tests of the addon under AddressSanitizer", "scripts/test-asan.mjs"],
  arm64: ["the Node tests by an arm64 Node under qemu", "scripts/test-arm64.mjs"],
  faults: ["all trials of failures", "scripts/test-faults.mjs"],
  fuzz: ["native code that reads input from outside", "scripts/test-fuzz.mjs"],
  soak: ["a hundred runs in a row", "scripts/soak.mjs"],
  warnings: ["that the C++ compiles without warnings", "scripts/check-warnings.mjs"],
  symbols: ["that compiled files load on older systems", "scripts/check-symbols.mjs"],
  bundle: ["that a tarball runs on a bare system", "scripts/check-bundle.mjs"],
  reproducible: ["that two builds give the same bytes", "scripts/check-reproducible.mjs"],
  release: ["the files of a release", "scripts/check-release.mjs"],
};

const [name = "", ...rest] = process.argv.slice(2);
if (Object.hasOwn(checks, name)) {
  const [, program, ...first] = checks[name];
  // Runs in this process, so that it gets the signals.
  process.argv = [process.argv[0], inRoot(program), ...first, ...rest];
  await import(inRoot(program));
} else {
  const lines = Object.entries(checks).map(([one, [about]]) => `  ${one.padEnd(12)}  ${about}`);
  console.log(`npm run check -- NAME\n${lines.join("\n")}`);
  if (name !== "") {
    console.error(`There is no check ${name}.`);
    process.exitCode = 2;
  }
}
