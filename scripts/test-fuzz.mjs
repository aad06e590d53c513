// `npm run check -- fuzz [--seconds N] [--seed N] [TARGET…]`: runs libFuzzer under AddressSanitizer and UBSan on all
// native code that reads outside input. Each target of test/fuzz runs for N seconds (10), starting from
// test/fuzz/corpus and from inputs that earlier runs found. Needs clang 16 or newer. Exit code 0 if none is harmful.
// `--build` only compiles.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { parseArgs } from "node:util";
import { buildPlain } from "./lib/native-build.mjs";
import { forEachTwoAtOnce, main, ScriptError } from "./lib/process.mjs";
import { inRoot, root } from "./lib/project.mjs";
import { clangMissing, findClang } from "./lib/toolchain.mjs";

const folder = "build/fuzz";

/** File to append lines to, like those of test/helpers/trials.ts; unset for none. */
const countsFile = process.env.PINBENCH_TRIAL_COUNTS;

/** libFuzzer's number of inputs, which it prints at the end, also after a failure. */
function executedUnits(output) {
  const [, units = "0"] = /number_of_executed_units:\s*(\d+)/.exec(output) ?? [];
  return Number(units);
}

/** Runs one target. Resolves with the number of inputs, and the output if one was harmful. */
function fuzz(name, { seconds, seed }) {
  const place = (kind) => inRoot(folder, kind, name);
  for (const kind of ["corpus", "harmful"]) mkdirSync(place(kind), { recursive: true });
  const words = inRoot("test/fuzz", `${name}.dict`);
  const args = [
    `-max_total_time=${seconds}`,
    `-seed=${seed}`,
    "-print_final_stats=1",
    "-max_len=4096",
    "-timeout=60",
    `-artifact_prefix=${place("harmful")}/`,
    ...(existsSync(words) ? [`-dict=${words}`] : []),
    place("corpus"),
    inRoot("test/fuzz/corpus", name),
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(inRoot(folder, `${name}_fuzz`), args, {
      cwd: root,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const chunks = [];
    child.stderr.on("data", (chunk) => chunks.push(chunk));
    child.on("error", reject);
    child.on("close", (code) => {
      const output = Buffer.concat(chunks).toString();
      resolve({ units: executedUnits(output), failure: code === 0 ? null : output });
    });
  });
}

await main(async () => {
  const { values, positionals } = parseArgs({
    options: {
      seconds: { type: "string", default: "10" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      build: { type: "boolean", default: false },
    },
    allowPositionals: true,
  });
  const known = readdirSync(inRoot("test/fuzz/corpus")).sort();
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new ScriptError(`There is no target '${unknown}': they are ${known.join(", ")}.`);
  const clang = findClang();
  if (clang === null) throw new ScriptError(clangMissing);
  const options = {
    CMAKE_CXX_COMPILER: clang,
    PINBENCH_BUILD_FUZZ: "ON",
    PINBENCH_KERNELS: "OFF",
    PINBENCH_WERROR: "ON",
  };
  await buildPlain(folder, options, { quiet: true });
  if (values.build) return;

  const failed = [];
  // Each target uses one thread.
  await forEachTwoAtOnce(positionals.length > 0 ? positionals : known, async (name) => {
    const { units, failure } = await fuzz(name, values);
    console.log(`${name}: ${units.toLocaleString("en-US")} inputs${failure === null ? "" : ", FAILED"}`);
    if (failure !== null) {
      console.error(failure);
      failed.push(name);
    }
    if (countsFile !== undefined) {
      // A target stops at its first harmful input.
      const tried = Math.max(units, failure === null ? 0 : 1);
      const counts = {
        what: "fuzzed inputs to native code",
        tried,
        survived: tried - (failure === null ? 0 : 1),
      };
      appendFileSync(countsFile, `${JSON.stringify(counts)}\n`);
    }
  });
  if (failed.length > 0) {
    throw new ScriptError(
      `Harmful inputs were found (seed ${values.seed}); see ${folder}/harmful: ${failed.join(", ")}.`,
    );
  }
});
