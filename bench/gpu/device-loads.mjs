// The GPU loads that pinbench runs during copies, against a bare loop of the same kernels. A load alone should reach
// the device's sustained rate. The two take turns of several seconds.
import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { median } from "../../dist/stats/order-statistics.js";
import { fixed, printTable, verdict } from "../lib/table.mjs";

const program = fileURLToPath(new URL("../../build/Release/load_loop", import.meta.url));
const turns = 3;
const seconds = 3;
const leastShare = 0.98;

/** The device's rate in the last second of a load, after its clock has fallen. */
function bareUnitsPerSecond(library, load) {
  const flags = ["--library", library, "--load", load, "--seconds", `${seconds}`];
  return JSON.parse(execFileSync(program, flags, { encoding: "utf8" })).unitsPerSecond.at(-1);
}

async function unitsPerSecond(session, kind) {
  const load = await session.startLoad({ kind, hostThreads: 0, hostBytes: 0 });
  await sleep((seconds - 1) * 1000);
  const begunNs = load.completions().atNs.at(-1);
  await sleep(1000);
  const { atNs, unitsEach } = load.completions();
  await load.stop();
  return (atNs.length * unitsEach) / ((atNs.at(-1) - begunNs) / 1e9);
}

export async function deviceLoads({ backend, session }) {
  const rows = [];
  for (const [load, unit, scale] of [
    ["compute", "TFLOP/s", 1e12],
    ["memory", "GB/s", 1e9],
  ]) {
    const bare = [];
    const own = [];
    for (let turn = 0; turn < turns; ++turn) {
      bare.push(bareUnitsPerSecond(backend.library, load) / scale);
      own.push((await unitsPerSecond(session, load)) / scale);
    }
    rows.push({ load, unit, bare, own, share: median(own) / median(bare) });
  }
  printTable(
    `Loads of the device by themselves, in the last of ${seconds} s; bound for the share: ${leastShare}`,
    ["load", "unit", "bare loop", "pinbench", "share", ""],
    rows.map((row) => [
      row.load,
      row.unit,
      fixed(median(row.bare), 1),
      fixed(median(row.own), 1),
      fixed(row.share, 3),
      verdict(row.share >= leastShare),
    ]),
  );
  return rows;
}
