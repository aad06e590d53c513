// `npm run check -- soak [--runs 100]`: runs the quick preset in fresh processes, one after the other. Fails on the
// first that hangs, crashes or reports anything but success.
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { main, ScriptError } from "./lib/process.mjs";
import { inRoot } from "./lib/project.mjs";

const hangMs = 60_000;

await main(() => {
  const { values, positionals } = parseArgs({
    options: { runs: { type: "string", default: "100" } },
    allowPositionals: true,
  });
  const started = performance.now();
  for (let run = 1; run <= Number(values.runs); ++run) {
    // A warm cache needs few buffers: this tests the start and end of processes.
    const args = [
      inRoot("bin/pinbench.js"),
      ..."run --backend auto --preset quick --cache warm --json --quiet".split(" "),
    ];
    const child = spawnSync(process.execPath, [...args, ...positionals], {
      encoding: "utf8",
      timeout: hangMs,
      killSignal: "SIGKILL",
      maxBuffer: 1 << 26,
    });
    if (child.error || child.status !== 0 || JSON.parse(child.stdout).run.status !== "complete") {
      const what = child.error?.message ?? `exit code ${child.status}, signal ${child.signal}`;
      throw new ScriptError(`Run ${run} of ${values.runs} failed: ${what}\n${child.stderr}`);
    }
  }
  const seconds = (performance.now() - started) / 1000;
  console.log(`${values.runs} runs of the quick preset in ${seconds.toFixed(0)} s, none hung or failed`);
});
