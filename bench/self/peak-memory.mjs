// A run's peak memory against its plan's estimate.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { watchProcess } from "../lib/watch-process.mjs";

const cli = fileURLToPath(new URL("../../bin/pinbench.js", import.meta.url));
const flags = ["--sizes", "64KiB,256MiB", "--workers", "2", "--samples", "6", "--json", "--quiet"];

export async function peakMemory(backendName) {
  const args = [cli, "run", "--backend", backendName, ...flags];
  const { need } = JSON.parse(
    spawnSync(process.execPath, [...args, "--dry-run"], { encoding: "utf8" }).stdout,
  );
  const { exitCode, stdout, peakBytes } = await watchProcess(process.execPath, args);
  if (exitCode !== 0) throw new Error(`pinbench run ended with ${exitCode}`);
  const document = JSON.parse(stdout);
  // The emulated device's memory belongs to this process too.
  const isEmulated = document.backend === "emulated";
  const estimatedBytes = need.hostBytes + (isEmulated ? need.deviceBytes : 0);
  const value = peakBytes / estimatedBytes;
  return {
    name: "peak memory / the plan's estimate",
    value,
    bound: "0.8 to 1.25",
    reached: value >= 0.8 && value <= 1.25,
    from: `${(peakBytes / 2 ** 20).toFixed(0)} MiB and ${(estimatedBytes / 2 ** 20).toFixed(0)} MiB`,
  };
}
