// `node bench gpu [--only loop,peers,staged,registered,loads,atonce,blocks,runs] [--runs 10] [--output FILE]`: measures
// pinbench's claims on this machine's GPU. `--backend emulated` tries the benchmark without a GPU.
// `--blocks 4096,65536 --pool 16777216 --turns 1` (bytes) shortens the section on blocks.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { againstLoop } from "./gpu/against-loop.mjs";
import { againstPeers } from "./gpu/against-peers.mjs";
import { devicesAtOnce } from "./gpu/at-once.mjs";
import { scatteredCopies } from "./gpu/blocks.mjs";
import { deviceLoads } from "./gpu/device-loads.mjs";
import { registeredBuffer, stagedCopies } from "./gpu/staged-and-registered.mjs";
import { printWholeRuns, wholeRuns } from "./gpu/whole-runs.mjs";
import { MiB, openSession } from "./lib/session.mjs";

const { values, positionals } = parseArgs({
  options: {
    only: { type: "string", default: "registered,loop,peers,staged,loads,atonce,blocks,runs" },
    runs: { type: "string", default: "10" },
    backend: { type: "string", default: "cuda" },
    blocks: { type: "string", default: "4096,16384,65536,262144,1048576" },
    pool: { type: "string", default: `${512 * MiB}` },
    turns: { type: "string", default: "3" },
    output: { type: "string" },
  },
  allowPositionals: true,
});
const sections = {
  registered: registeredBuffer,
  loop: againstLoop,
  peers: againstPeers,
  staged: stagedCopies,
  loads: deviceLoads,
  atonce: devicesAtOnce,
  blocks: (opened) =>
    scatteredCopies(opened, {
      blocks: values.blocks.split(",").map(Number),
      poolBytes: Number(values.pool),
      turns: Number(values.turns),
    }),
};
const results = { command: `node bench gpu ${process.argv.slice(2).join(" ")}`.trim() };

for (const name of values.only.split(",")) {
  if (name === "runs") {
    // Arguments after `--` are flags for every pinbench run.
    results.runs = wholeRuns({ backend: values.backend, runs: Number(values.runs), flags: positionals });
    printWholeRuns(results.runs);
    continue;
  }
  const opened = await openSession(values.backend);
  results.device = { ...opened.device, driverVersion: opened.backend.facts.driverVersion };
  results.host = opened.host;
  results[name] = await sections[name](opened);
  await opened.session.close();
}
if (values.output) writeFileSync(values.output, `${JSON.stringify(results, null, 1)}\n`);
