// `npm run mutate -- FOLDER...`: how many mutants of a folder's computing code its tests notice. Stryker's instrumenter
// puts all mutants of a folder into its sources, and scripts/mutation/runner.mjs activates one at a time. Lists the
// survivors with the original code.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { main, run, ScriptError } from "./lib/process.mjs";
import { inRoot, root } from "./lib/project.mjs";
import { excludedMutations, filesOf, folderNames, ignorers } from "./mutation/folders.mjs";

const kit = inRoot("scripts/mutation");
const work = inRoot("build/mutation");

/** Exceeds the time of any test or mutant. */
const hangMs = 180_000;

/** Installs Stryker's instrumenter. `npm ci` omits it, because only this script needs its 67 packages. */
async function ensureKit() {
  const installed = `${kit}/node_modules/.package-lock.json`;
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${kit}/package-lock.json`).mtimeMs)
    return;
  await run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: kit, quiet: true });
}

/**
 * Replaces the two functions that instrumented sources call. Ours count only on request, which makes mutants several
 * times as fast.
 */
const switching = `const mutants_9fa48 = globalThis.__mutants__;
function stryCov_9fa48() { if (mutants_9fa48.reached !== null) for (const id of arguments) mutants_9fa48.count(id); }
function stryMutAct_9fa48(id) { return mutants_9fa48.active === id && mutants_9fa48.act(); }
`;

/** The sources with all mutants in them, and the mutants. */
async function instrumented(sources) {
  const entry = createRequire(`${kit}/package.json`).resolve("@stryker-mutator/instrumenter");
  const { Instrumenter } = await import(pathToFileURL(entry).href);
  const silent = { debug() {}, info() {}, warn: console.warn, isDebugEnabled: () => false };
  const files = sources.map((name) => ({ name, mutate: true, content: readFileSync(name, "utf8") }));
  const options = { plugins: null, excludedMutations, ignorers, noHeader: true };
  const { files: changed, mutants } = await new Instrumenter(silent).instrument(files, options);
  return { files: changed.map(({ name, content }) => ({ name, content: switching + content })), mutants };
}

/** Child processes, which signals end too. */
const running = new Set();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    for (const end of running) end();
    process.exit(1);
  });
}

/** Runs vitest, and ends it once `isStuck()`. `passes` is false if it fails. */
function runsThrough(env, isStuck) {
  return new Promise((resolve, reject) => {
    const args = [
      inRoot("node_modules/vitest/vitest.mjs"),
      "run",
      "--config",
      "scripts/mutation/vitest.config.mjs",
    ];
    const options = {
      cwd: root,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    };
    const child = spawn(process.execPath, args, options);
    const printed = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => printed.push(chunk));
    const end = () => {
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has ended.
      }
    };
    const watch = setInterval(() => isStuck() && end(), 1000);
    running.add(end);
    child.on("error", reject);
    child.on("close", (code) => {
      clearInterval(watch);
      running.delete(end);
      resolve({ passes: code === 0, output: Buffer.concat(printed).toString() });
    });
  });
}

/** Outcomes of a mutant, the best last. With several test files, the best outcome counts. */
const statuses = ["not reached", "at load", "survived", "survived, also at load", "hung", "killed"];

/** Tries the mutants that these tests reach; returns a record for each. */
async function triedBy(tests, name, ids, variables, isUnchanged) {
  const records = `${work}/${name}.jsonl`;
  if (!isUnchanged || !existsSync(records)) writeFileSync(records, "");
  const lines = () =>
    readFileSync(records, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  const write = (all, options) =>
    writeFileSync(records, all.map((line) => `${JSON.stringify(line)}\n`).join(""), options);
  write(lines().filter(({ status }) => status === "killed" || status === "hung"));
  for (;;) {
    const before = lines().length;
    const isStuck = () =>
      Date.now() - statSync(records).mtimeMs > hangMs && lines().at(-1)?.status === "begun";
    const env = {
      ...variables,
      PINBENCH_MUTATED_TESTS: JSON.stringify(tests),
      PINBENCH_MUTATED_TEST_FILES: String(tests.length),
      PINBENCH_MUTATED_RECORDS: records,
      PINBENCH_MUTATED_IDS: JSON.stringify(ids),
    };
    const { output } = await runsThrough(env, isStuck);
    const now = lines();
    if (now.length === before) throw new ScriptError(`The tests of ${name} did not run:\n${output}`);
    const last = now.at(-1);
    if (last.status === "done") return now;
    if (last.status !== "begun")
      throw new ScriptError(`The tests of ${name} failed without a mutant:\n${output}`);
    write([{ status: "hung", id: last.id }], { flag: "a" });
  }
}

/** Whether a folder's tests notice a mutant that acts while their files load. */
async function isNoticedAtLoad(id, tests, variables) {
  const start = Date.now();
  const env = { ...variables, PINBENCH_MUTATED_TESTS: JSON.stringify(tests), PINBENCH_MUTATED_AT_LOAD: id };
  return !(await runsThrough(env, () => Date.now() - start > hangMs)).passes;
}

/** Tries all mutants of a folder, and prints the survivors and the score. */
async function mutate(folder, { every, from, atLoad, fresh }) {
  const { sources, tests, apart } = filesOf(folder);
  const { files, mutants } = await instrumented(sources);
  mkdirSync(work, { recursive: true });
  const instrumentedFile = `${work}/${folder}-sources.json`;
  const text = JSON.stringify(Object.fromEntries(files.map(({ name, content }) => [name, content])));
  // With unchanged sources, mutants noticed before are not tried again.
  const isUnchanged =
    !fresh && existsSync(instrumentedFile) && readFileSync(instrumentedFile, "utf8") === text;
  writeFileSync(instrumentedFile, text);
  const variables = { PINBENCH_MUTATED_SOURCES: instrumentedFile };
  const active = mutants.filter(({ status }, i) => status !== "Ignored" && i % every === from % every);
  const longTests = new Set();
  const statusOf = new Map(active.map(({ id }) => [id, "not reached"]));
  for (const [i, files] of (apart ? tests.map((file) => [file]) : [tests]).entries()) {
    const left = [...statusOf].filter(([, status]) => !["killed", "hung"].includes(status)).map(([id]) => id);
    const name = apart ? `${folder}-${i}` : folder;
    for (const { id, status } of await triedBy(files, name, left, variables, isUnchanged)) {
      if (status === "unrepeatable") console.log(`${id}: fails when it runs twice, so it tries no mutants`);
      if (status === "long") longTests.add(id);
      if (!statusOf.has(id)) continue;
      if (statuses.indexOf(status) > statuses.indexOf(statusOf.get(id))) statusOf.set(id, status);
    }
  }
  for (const name of longTests) console.log(`${name}: takes long to compute, so it tries no mutants`);
  let loading = 0;
  for (const { id } of active) {
    const status = statusOf.get(id);
    if (!status.endsWith("at load")) continue;
    if (status === "at load" && !atLoad) ++loading;
    else statusOf.set(id, (await isNoticedAtLoad(id, tests, variables)) ? "killed" : "survived");
  }
  const unnoticed = active.filter(({ id }) => ["survived", "not reached"].includes(statusOf.get(id)));
  for (const mutant of unnoticed) console.log(lineOf(mutant, statusOf.get(mutant.id)));
  const tried = active.length - loading;
  const share = ((tried - unnoticed.length) / tried) * 100;
  const unreached = unnoticed.filter(({ id }) => statusOf.get(id) === "not reached").length;
  const isMarked = ({ statusReason }) =>
    statusReason !== undefined && !/excluded mutation|does not compute/.test(statusReason);
  console.log(
    `${folder}: ${share.toFixed(1)} % of ${tried} mutants noticed, ${unnoticed.length - unreached} not, ${unreached} ` +
      `reached by no test; ${mutants.filter(isMarked).length} marked as equivalent, ${loading} act while files are loaded only`,
  );
}

/** A mutant as one line: position, original and replacement. */
function lineOf({ fileName, location: { start, end }, replacement, mutatorName }, status) {
  const lines = readFileSync(fileName, "utf8")
    .split("\n")
    .slice(start.line, end.line + 1);
  const last = lines.length - 1;
  lines[last] = lines[last].slice(0, end.column);
  lines[0] = lines[0].slice(start.column);
  const short = (text) => {
    const line = text.replace(/\s+/g, " ");
    return line.length > 90 ? `${line.slice(0, 89)}…` : line;
  };
  const place = `${relative(root, fileName)}:${start.line + 1}:${start.column + 1}`;
  return `${place} ${status}: ${mutatorName}\n    ${short(lines.join("\n"))}\n  → ${short(replacement)}`;
}

await main(async () => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      every: { type: "string", default: "1" },
      from: { type: "string", default: "0" },
      "at-load": { type: "boolean", default: false },
      fresh: { type: "boolean", default: false },
    },
  });
  const isUnknown = positionals.some((name) => !folderNames.includes(name));
  if (isUnknown || positionals.length === 0) {
    throw new ScriptError(
      `npm run mutate -- [--every N] [--from N] [--at-load] [--fresh] FOLDER..., of ${folderNames.join(", ")}`,
    );
  }
  const options = {
    every: Number(values.every),
    from: Number(values.from),
    atLoad: values["at-load"],
    fresh: values.fresh,
  };
  await ensureKit();
  for (const folder of positionals) await mutate(folder, options);
});
