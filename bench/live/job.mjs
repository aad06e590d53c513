// Runs a training, untouched or under `pinbench tune --go`, and reads the account that it prints.
import { spawn } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { settingFlags } from "./frameworks.mjs";

const program = new URL("../../bin/pinbench.js", import.meta.url).pathname;

/** What a run may take over its measured time: imports, the device's start, filling the loader, and its end. */
const overheadSeconds = 90;
const searchSeconds = 90;
const graceMs = 8000;

/** What a changed loader delivers that was begun under the setting before. */
const outstandingBatches = 64;

const recommendationLine = /=> num_workers=(\d+)(?:.*prefetch_factor=(\d+))?/;

/** The script's account, and `startedNs`, `tookSeconds`. Throws where the script printed none. */
export async function runUntouched(framework, setting, seconds, log) {
  const flags = [...settingFlags(setting), "--seconds", String(seconds)];
  const ended = await runProcess(framework.command(flags), seconds + overheadSeconds, log, () => undefined);
  if (ended.exitCode !== 0) throw new Error(`the script ended with ${describeEnd(ended)}`);
  return { setting, ...ended.account, tookSeconds: ended.tookSeconds };
}

/**
 * A run with the script's own `setting`, searched with the flags of `tune`, which goes on for `seconds` after that:
 * the account is of these seconds. With the document of `tune`, what it recommended, and what it left behind.
 */
export async function runTuned(framework, setting, { seconds, tuneFlags, limitSeconds }, log) {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-live-"));
  const saved = join(folder, "tuning.json");
  const signal = join(folder, "measure");
  const sharedMemoryBefore = sharedMemoryFiles();
  let recommendedNs = null;
  const onText = (text) => {
    const match = recommendationLine.exec(text);
    if (match === null || recommendedNs !== null) return;
    recommendedNs = Number(process.hrtime.bigint());
    const workers = Number(match[1]);
    const refillBatches = 2 * workers * Number(match[2] ?? 2) + 8;
    // Renamed when whole: the script looks for it all the time.
    writeFileSync(`${signal}.part`, JSON.stringify({ outstandingBatches, refillBatches, workers }));
    renameSync(`${signal}.part`, signal);
  };
  try {
    const flags = [...settingFlags(setting), "--seconds", String(seconds), "--measure-after", signal];
    const tune = [process.execPath, program, "tune", "--go", "--output", saved, ...tuneFlags, "--"];
    const command = [...tune, ...framework.command(flags)];
    const limit = Math.min(limitSeconds, searchSeconds + seconds + overheadSeconds);
    const ended = await runProcess(command, limit, log, onText);
    const document = existsSync(saved) ? JSON.parse(readFileSync(saved, "utf8")) : null;
    const recommendation = document?.recommendation ?? null;
    if (recommendation === null)
      throw new Error(`tune recommended nothing and ended with ${describeEnd(ended)}`);
    return {
      ...ended.account,
      exitCode: ended.exitCode,
      tookSeconds: ended.tookSeconds,
      setting: recommendation.setting,
      predicted: recommendation.score,
      searchSeconds: recommendedNs === null ? null : (recommendedNs - ended.account.firstBatchNs) / 1e9,
      leftInSharedMemory: sharedMemoryFiles().filter((file) => !sharedMemoryBefore.includes(file)),
      document,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const sharedMemoryFiles = () => (existsSync("/dev/shm") ? readdirSync("/dev/shm") : []);

const describeEnd = ({ exitCode, signal, isLate }) =>
  isLate ? "nothing, as its time was up" : (signal ?? `exit code ${exitCode}`);

/** Ended with the whole of its process group once `limitSeconds` have passed, and when this process is interrupted. */
async function runProcess([file, ...args], limitSeconds, log, onText) {
  log(`$ ${[file, ...args].join(" ")}\n`);
  const startedMs = performance.now();
  const env = { ...process.env, PYTHONUNBUFFERED: "1" };
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], detached: true, env });
  let isLate = false;
  const kill = (name) => {
    try {
      process.kill(-child.pid, name);
    } catch {
      // It has ended.
    }
  };
  const end = () => {
    kill("SIGTERM");
    setTimeout(() => kill("SIGKILL"), graceMs).unref();
  };
  const limit = setTimeout(() => {
    isLate = true;
    end();
  }, limitSeconds * 1000);
  const interrupted = (name) => {
    end();
    child.once("exit", () => process.exit(name === "SIGINT" ? 130 : 143));
  };
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, interrupted);

  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    log(chunk);
    errors += chunk;
    onText(errors);
  });
  try {
    const [exitCode, signal] = await new Promise((resolve, reject) => {
      child.once("error", reject);
      // A worker that outlives the script holds its stdout open, for which nobody waits.
      child.once("exit", (code, name) => setTimeout(() => resolve([code, name]), 200));
    });
    log(output);
    const account = readAccount(output);
    const ended = { exitCode, signal, isLate, account, tookSeconds: (performance.now() - startedMs) / 1000 };
    if (account === null)
      throw new Error(`the script printed no account and ended with ${describeEnd(ended)}`);
    return ended;
  } finally {
    clearTimeout(limit);
    kill("SIGKILL");
    for (const name of ["SIGINT", "SIGTERM"]) process.removeListener(name, interrupted);
  }
}

/** The last line that is one JSON object. */
function readAccount(output) {
  const line = output.trim().split("\n").at(-1);
  if (!line?.startsWith("{")) return null;
  const account = JSON.parse(line);
  return account.batchesPerSecond === undefined ? null : account;
}
