// `node scripts/mutants.mjs [--only TEXT]`: puts the mutants of test/mutants.json into the code, one at a time, and reports
// whether a test notices each. Exit code 0 only if all are noticed.
//
// A mutant replaces `find`, which must occur in `file` exactly once, by `replace`. `test` is the command that must fail
// then; `what` describes the fault in one line. `--only` takes the mutants with TEXT in one of these. dist is
// compiled again for a mutant in src/; a command that needs other compiled code builds it itself.
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { ensureBuilt } from "./lib/build.mjs";
import { main, ScriptError } from "./lib/process.mjs";
import { inRoot, root } from "./lib/project.mjs";

/** A test that runs longer hangs, which also counts as noticing. */
const hangMs = 10 * 60_000;

const shownLines = 20;

/** Restores the changed file; null without a mutant. */
let takeOut = null;
/** The running test, in its own process group so that all of it can be ended. */
let child = null;
let isInterrupted = false;

function restore() {
  takeOut?.();
  takeOut = null;
}

function interrupt() {
  restore();
  try {
    if (child !== null) process.kill(-child.pid, isInterrupted ? "SIGKILL" : "SIGTERM");
  } catch {
    // It has ended.
  }
  if (isInterrupted) process.exit(130);
  isInterrupted = true;
}

function readMutants(only) {
  const mutants = JSON.parse(readFileSync(inRoot("test/mutants.json"), "utf8"));
  const keys = ["file", "find", "replace", "test", "what"];
  for (const [i, mutant] of mutants.entries()) {
    const missing = keys.find((key) => typeof mutant[key] !== "string");
    if (missing !== undefined)
      throw new ScriptError(`Mutant ${i + 1} of test/mutants.json has no ${missing}.`);
  }
  return mutants.filter((mutant) => keys.some((key) => mutant[key].includes(only)));
}

function requireCleanTree() {
  const { status, stdout } = spawnSync("git", ["status", "--porcelain"], { cwd: root, encoding: "utf8" });
  if (status !== 0 || stdout !== "") {
    throw new ScriptError("Mutants need a clean working tree: commit or stash your changes.");
  }
}

/** Puts a mutant into its file; returns why it does not apply, or null. */
function putIn({ file, find, replace }) {
  let text;
  try {
    text = readFileSync(inRoot(file), "utf8");
  } catch (error) {
    return error.code;
  }
  const parts = text.split(find);
  if (parts.length !== 2) return `the text occurs ${parts.length - 1} times`;
  takeOut = () => writeFileSync(inRoot(file), text);
  writeFileSync(inRoot(file), parts.join(replace));
  return null;
}

/** Compiles changes; false if they do not compile, which leaves dist unchanged. */
async function compiles() {
  try {
    await ensureBuilt({ quiet: true });
    return true;
  } catch (error) {
    if (error instanceof ScriptError) return false;
    throw error;
  }
}

/** Runs a mutant's command; `output` is the end of its output. */
function runTest(command) {
  return new Promise((resolve, reject) => {
    // Ctrl-C came while the mutant was being compiled.
    if (isInterrupted) return resolve({ passes: false, output: "" });
    const printed = [];
    child = spawn("sh", ["-c", command], { cwd: root, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => printed.push(chunk));
    const hangs = setTimeout(() => process.kill(-child.pid, "SIGKILL"), hangMs);
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(hangs);
      child = null;
      const lines = Buffer.concat(printed).toString().trimEnd().split("\n");
      resolve({ passes: code === 0, output: lines.slice(-shownLines).join("\n") });
    });
  });
}

/** A mutant's result in a word or two, with details if it was not noticed. */
async function tryMutant(mutant, failing) {
  if (failing.has(mutant.test)) return ["TEST FAILS WITHOUT IT", failing.get(mutant.test)];
  const reason = putIn(mutant);
  if (reason !== null) return ["DOES NOT APPLY", reason];
  try {
    const isCompiled = !mutant.file.startsWith("src/") || (await compiles());
    const { passes } = await runTest(mutant.test);
    if (!passes) return ["noticed", ""];
    return ["NOT NOTICED", isCompiled ? mutant.test : `${mutant.test} (and it does not compile)`];
  } finally {
    restore();
  }
}

async function tryAll(mutants) {
  await ensureBuilt({ quiet: true });
  /** Commands that fail without a mutant, with the end of their output: they would notice any mutant. */
  const failing = new Map();
  for (const command of new Set(mutants.map(({ test }) => test))) {
    const { passes, output } = await runTest(command);
    if (isInterrupted) return;
    if (!passes) failing.set(command, `${command}\n${output}`);
  }
  let noticed = 0;
  for (const mutant of mutants) {
    const [verdict, more] = await tryMutant(mutant, failing);
    if (isInterrupted) return;
    if (verdict === "noticed") ++noticed;
    console.log(`${verdict.padEnd(11)}  ${mutant.file}: ${mutant.what}${more === "" ? "" : `\n  ${more}`}`);
  }
  console.log(`${noticed} of ${mutants.length} mutants were noticed`);
  if (noticed < mutants.length) process.exitCode = 1;
}

await main(async () => {
  const { values } = parseArgs({ options: { only: { type: "string", default: "" } } });
  const mutants = readMutants(values.only);
  if (mutants.length === 0) throw new ScriptError(`No mutant of test/mutants.json contains ${values.only}.`);
  requireCleanTree();
  process.on("exit", restore);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, interrupt);
  try {
    await tryAll(mutants);
  } finally {
    restore();
    // Also after Ctrl-C, dist must match the source.
    await ensureBuilt({ quiet: true });
  }
  if (isInterrupted) process.exitCode = 130;
});
