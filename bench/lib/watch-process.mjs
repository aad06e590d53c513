// Runs a command and measures its time and memory.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

/** Resolves to its exit code, its output, its wall time and the peak of its resident set (VmHWM). */
export async function watchProcess(command, args) {
  const startedMs = performance.now();
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  const chunks = [];
  child.stdout.on("data", (chunk) => chunks.push(chunk));
  let peakBytes = 0;
  const reader = setInterval(() => {
    const match = /VmHWM:\s+(\d+) kB/.exec(readStatus(child.pid));
    if (match) peakBytes = Math.max(peakBytes, Number(match[1]) * 1024);
  }, 5);
  const exitCode = await new Promise((resolve) => child.on("close", resolve));
  const seconds = (performance.now() - startedMs) / 1000;
  clearInterval(reader);
  return { exitCode, stdout: Buffer.concat(chunks).toString("utf8"), seconds, peakBytes };
}

function readStatus(pid) {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}
