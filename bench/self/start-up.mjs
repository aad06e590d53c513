// The time of `pinbench --version` against an empty Node program, run in turns.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median } from "../../dist/stats/order-statistics.js";

const cli = fileURLToPath(new URL("../../bin/pinbench.js", import.meta.url));
const turns = 21;

export function startUp() {
  const timeMs = (...args) => {
    const started = performance.now();
    const { status } = spawnSync(process.execPath, args, { stdio: "ignore" });
    if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}`);
    return performance.now() - started;
  };
  const empty = [];
  const version = [];
  for (let turn = 0; turn < turns; ++turn) {
    empty.push(timeMs("-e", "0"));
    version.push(timeMs(cli, "--version"));
  }
  const value = median(version) / median(empty);
  return {
    name: "pinbench --version / node -e 0",
    value,
    bound: "at most 1.45",
    reached: value <= 1.45,
    from: `medians of ${turns}: ${median(version).toFixed(0)} ms and ${median(empty).toFixed(0)} ms`,
  };
}
