// The memory a run really takes against what its plan says beforehand.
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const cli = fileURLToPath(new URL("../../bin/pinbench.js", import.meta.url));
const flags = [
  "--sizes",
  "64KiB,256MiB",
  "--workers",
  "2",
  "--llc",
  "16MiB",
  "--samples",
  "6",
  "--json",
  "--quiet",
];

export async function peakMemory(backendName) {
  const args = [cli, "run", "--backend", backendName, ...flags];
  const { estimate } = JSON.parse(
    spawnSync(process.execPath, [...args, "--dry-run"], { encoding: "utf8" }).stdout,
  );
  const { document, peakBytes } = await watch(args);
  // The emulated device's memory is this process's too.
  const isEmulated = document.backend === "emulated";
  const estimatedBytes = estimate.hostBytes + (isEmulated ? estimate.deviceBytes : 0);
  const value = peakBytes / estimatedBytes;
  return {
    name: "peak memory / the plan's estimate",
    value,
    bound: "0.8 to 1.25",
    reached: value >= 0.8 && value <= 1.25,
    from: `${(peakBytes / 2 ** 20).toFixed(0)} MiB and ${(estimatedBytes / 2 ** 20).toFixed(0)} MiB`,
  };
}

/** Peak of the resident set (VmHWM), read until the process ends. */
async function watch(args) {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const chunks = [];
  child.stdout.on("data", (chunk) => chunks.push(chunk));
  let peakBytes = 0;
  const reader = setInterval(() => {
    const match = /VmHWM:\s+(\d+) kB/.exec(readStatus(child.pid));
    if (match) peakBytes = Math.max(peakBytes, Number(match[1]) * 1024);
  }, 5);
  const status = await new Promise((resolve) => child.on("close", resolve));
  clearInterval(reader);
  if (status !== 0) throw new Error(`pinbench run ended with ${status}`);
  return { document: JSON.parse(Buffer.concat(chunks).toString("utf8")), peakBytes };
}

function readStatus(pid) {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}
