// Runs a training, edited by hand or as `pinbench tune --go` does, and reads its summary.
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
const hook = new URL("../../dist/tune/python", import.meta.url).pathname;

/** The scripts' own setting, which users are likely to have. */
export const usual = { numWorkers: 4, pinMemory: false, prefetchFactor: 2, persistentWorkers: false };

/** Allowance beyond the measured seconds for imports, device start-up, filling the loader, and the end. */
const overheadSeconds = 90;
const searchSeconds = 90;
const graceMs = 8000;

/** Runs the script with a hand-edited setting; returns its summary with `tookSeconds`. Throws if it printed none. */
export async function runEdited(framework, setting, seconds, log) {
  const flags = [...settingFlags(setting), "--seconds", String(seconds)];
  return runScript(framework.command(flags), {}, seconds, log);
}

/** Runs the script again as `tune --go` started it after the search whose summary this is. */
export async function runGone(framework, { document, go }, seconds, log) {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-live-"));
  const [signal, found] = ["measure", "found"].map((name) => join(folder, name));
  try {
    writeSignal(signal, document.recommendation.setting);
    const env = {
      PINBENCH_TUNE_GO: JSON.stringify({ ...JSON.parse(go), found }),
      PYTHONPATH: [hook, process.env.PYTHONPATH].filter(Boolean).join(":"),
    };
    const flags = ["--seconds", String(seconds), "--measure-after", signal];
    const run = await runScript(framework.command([...settingFlags(usual), ...flags]), env, seconds, log);
    if (!existsSync(found)) throw new Error("the loader was not constructed");
    return run;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function runScript(command, env, seconds, log) {
  const ended = await runProcess(command, seconds + overheadSeconds, env, log);
  if (ended.exitCode !== 0) throw new Error(`the script ended with ${describeEnd(ended)}`);
  return { ...ended.account, tookSeconds: ended.tookSeconds };
}

/** Tells the script to measure, and which setting it has, because its flags do not show it. */
function writeSignal(path, { numWorkers: workers, prefetchFactor }) {
  const refillBatches = 2 * workers * (prefetchFactor ?? 2) + 8;
  // Renamed when complete, because the script polls for it.
  writeFileSync(`${path}.part`, JSON.stringify({ outstandingBatches: 0, refillBatches, workers }));
  renameSync(`${path}.part`, path);
}

/**
 * Runs `tune --go`: a search during which the script waits for a signal, then the restarted script, which finds the
 * signal and measures `seconds` of training. Returns the summary of these seconds and tune's document.
 */
export async function runTuned(framework, { seconds, tuneFlags, limitSeconds }, log) {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-live-"));
  const [signal, saved] = ["measure", "tuning.json"].map((name) => join(folder, name));
  const recommended = () =>
    existsSync(saved) ? (JSON.parse(readFileSync(saved, "utf8")).recommendation ?? null) : null;
  const look = setInterval(() => {
    const found = recommended();
    if (found === null) return;
    clearInterval(look);
    writeSignal(signal, found.setting);
  }, 100);
  try {
    const flags = [...settingFlags(usual), "--seconds", String(seconds), "--measure-after", signal];
    const tune = [process.execPath, program, "tune", "--go", "--output", saved, ...tuneFlags, "--"];
    const limit = Math.min(limitSeconds, searchSeconds + seconds + overheadSeconds);
    const ended = await runProcess([...tune, ...framework.command(flags)], limit, {}, log);
    if (recommended() === null)
      throw new Error(`tune recommended nothing and ended with ${describeEnd(ended)}`);
    const { exitCode, tookSeconds, account } = ended;
    return { ...account, exitCode, tookSeconds, document: JSON.parse(readFileSync(saved, "utf8")) };
  } finally {
    clearInterval(look);
    rmSync(folder, { recursive: true });
  }
}

export const sharedMemoryFiles = () => (existsSync("/dev/shm") ? readdirSync("/dev/shm") : []);

const describeEnd = ({ exitCode, signal, isLate }) =>
  isLate ? "nothing, as its time was up" : (signal ?? `exit code ${exitCode}`);

/** Runs a command; ends its process group after `limitSeconds`, or if this process is interrupted. */
async function runProcess(command, limitSeconds, more, log) {
  const [file, ...args] = command;
  log(`$ ${[...Object.entries(more).map((pair) => pair.join("=")), ...command].join(" ")}\n`);
  const startedMs = performance.now();
  const env = { ...process.env, ...more, PYTHONUNBUFFERED: "1" };
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], detached: true, env });
  let isLate = false;
  const kill = (name) => {
    try {
      process.kill(-child.pid, name);
    } catch {
      // The group has ended.
    }
  };
  const end = () => {
    kill("SIGTERM");
    setTimeout(() => kill("SIGKILL"), graceMs).unref();
    // A process that is stuck in a driver call never exits.
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

function readAccount(output) {
  const line = output.trim().split("\n").at(-1);
  if (!line?.startsWith("{")) return null;
  const account = JSON.parse(line);
  return account.batchesPerSecond === undefined ? null : account;
}
