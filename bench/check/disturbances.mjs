// Programs that slow a machine down during a check. Each is started by its function, and ended by stop().
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const cli = fileURLToPath(new URL("../../bin/pinbench.js", import.meta.url));

/** Copies to the device from pinned memory until stopped. */
export function startCompetingCopy(backend) {
  const flags =
    "run --sizes 64MiB --memory pinned --direction h2d --workers 1 --budget 10min --precision 0.0001%";
  const args = [cli, ...flags.split(" "), "--backend", backend, "--no-config", "--quiet", "--json"];
  return startProgram(args, "SIGINT");
}

/** A number of threads that copy host memory until stopped. */
export function startMemoryLoad(threads) {
  return startProgram([fileURLToPath(import.meta.url), "copy-memory", String(threads)], "SIGTERM");
}

function startProgram(args, endSignal) {
  const child = spawn(process.execPath, args, { stdio: "ignore" });
  const ended = new Promise((resolve) => child.on("close", resolve));
  return {
    child,
    async stop() {
      if (child.exitCode !== null) throw new Error(`the disturbance ended with ${child.exitCode}`);
      child.kill(endSignal);
      await ended;
    },
  };
}

/** The competing copy, but only during those runs of a check whose number (from 0) `isSlow` accepts. */
export function startTimedCompetitor(backend, isSlow) {
  const competitor = startCompetingCopy(backend);
  const seen = new Map();
  let isOn = true;
  const set = (on) => {
    if (on !== isOn) competitor.child.kill(on ? "SIGCONT" : "SIGSTOP");
    isOn = on;
  };
  const watch = setInterval(() => {
    const measuring = processesThatMeasure();
    for (const pid of measuring) if (!seen.has(pid)) seen.set(pid, seen.size);
    set(measuring.some((pid) => isSlow(seen.get(pid))));
  }, 20);
  return {
    async stop() {
      clearInterval(watch);
      set(true);
      await competitor.stop();
    },
  };
}

/** Process ids of `pinbench measure`, the hidden command that a check starts for each of its runs. */
function processesThatMeasure() {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
        return words.some((word) => word.endsWith("pinbench.js")) && words.includes("measure");
      } catch {
        return false;
      }
    });
}

/** Far more than any cache holds. */
const bufferBytes = 128 * 1024 * 1024;

if (process.argv[2] === "copy-memory") {
  const { Worker } = await import("node:worker_threads");
  const code = `const a = Buffer.alloc(${bufferBytes}, 1), b = Buffer.alloc(${bufferBytes}, 2); for (;;) a.copy(b);`;
  for (let i = 0; i < Number(process.argv[3]); ++i) new Worker(code, { eval: true });
}
