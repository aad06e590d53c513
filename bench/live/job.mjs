// Runs a training, untouched or under `pinbench tune --go`, and reads its summary.
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

/** Allowance of a run over its measured time: imports, the device's start, filling the loader, and its end. */
const overheadSeconds = 90;
const searchSeconds = 90;
const graceMs = 8000;

/** Batches that a changed loader delivers from the previous setting. */
const outstandingBatches = 64;

/** The script's summary, and `startedNs`, `tookSeconds`. Throws if the script printed none. */
export async function runUntouched(framework, setting, seconds, place, log) {
  const flags = [...settingFlags(setting), "--seconds", String(seconds)];
  const ended = await runProcess(framework.command(flags), seconds + overheadSeconds, place, log);
  if (ended.exitCode !== 0) throw new Error(`the script ended with ${describeEnd(ended)}`);
  return { setting, ...ended.account, tookSeconds: ended.tookSeconds };
}

/**
 * A run with the script's own `setting`: a search with the flags of `tune`, then `seconds` of training. Returns
 * the summary of these seconds, the document of `tune`, and its recommendation.
 */
export async function runTuned(framework, setting, { seconds, tuneFlags, limitSeconds }, place, log) {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-live-"));
  const saved = join(folder, "tuning.json");
  const signal = join(folder, "measure");
  let recommendedNs = null;
  const look = setInterval(() => {
    const found = existsSync(saved) ? (JSON.parse(readFileSync(saved, "utf8")).recommendation ?? null) : null;
    if (found === null) return;
    clearInterval(look);
    recommendedNs = Number(process.hrtime.bigint());
    const { numWorkers: workers, prefetchFactor } = found.setting;
    const refillBatches = 2 * workers * (prefetchFactor ?? 2) + 8;
    // Renamed when complete, because the script polls for it.
    writeFileSync(`${signal}.part`, JSON.stringify({ outstandingBatches, refillBatches, workers }));
    renameSync(`${signal}.part`, signal);
  }, 100);
  try {
    const flags = [...settingFlags(setting), "--seconds", String(seconds), "--measure-after", signal];
    const tune = [process.execPath, program, "tune", "--go", "--output", saved, ...tuneFlags, "--"];
    const command = [...tune, ...framework.command(flags)];
    const limit = Math.min(limitSeconds, searchSeconds + seconds + overheadSeconds);
    const ended = await runProcess(command, limit, place, log);
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
      document,
    };
  } finally {
    clearInterval(look);
    rmSync(folder, { recursive: true });
  }
}

export const sharedMemoryFiles = () => (existsSync("/dev/shm") ? readdirSync("/dev/shm") : []);

const describeEnd = ({ exitCode, signal, isLate }) =>
  isLate ? "nothing, as its time was up" : (signal ?? `exit code ${exitCode}`);

/** Ends the whole process group after `limitSeconds`, and if this process is interrupted. */
async function runProcess(command, limitSeconds, place, log) {
  const [file, ...args] = [...place.prefix, ...command];
  log(`$ ${[file, ...args].join(" ")}\n`);
  const startedMs = performance.now();
  const env = { ...process.env, ...place.env, PYTHONUNBUFFERED: "1" };
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
    // A process that a driver call holds in the kernel never exits.
    setTimeout(() => child.emit("exit", null, "SIGKILL"), 2 * graceMs).unref();
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
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    log(chunk);
  });
  try {
    const [exitCode, signal] = await new Promise((resolve, reject) => {
      child.once("error", reject);
      // A worker that outlives the script keeps its stdout open; do not wait for it.
      child.once("exit", (code, name) => setTimeout(() => resolve([code, name]), 200));
    });
    log(output);
    const account = readAccount(output);
    const ended = { exitCode, signal, isLate, account, tookSeconds: (performance.now() - startedMs) / 1000 };
    if (account === null)
      throw new Error(`the script printed no summary and ended with ${describeEnd(ended)}`);
    return ended;
  } finally {
    clearTimeout(limit);
    kill("SIGKILL");
    for (const name of ["SIGINT", "SIGTERM"]) process.removeListener(name, interrupted);
  }
}

/** The last line that is a JSON object. */
function readAccount(output) {
  const line = output.trim().split("\n").at(-1);
  if (!line?.startsWith("{")) return null;
  const account = JSON.parse(line);
  return account.batchesPerSecond === undefined ? null : account;
}
