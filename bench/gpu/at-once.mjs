// `pinbench run` with two devices at once and with copies between them, compared with nvbandwidth's figures
// (peers.mjs); and the gain of copying in a pipeline of chunks.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fixed, printTable, ratioText, verdict } from "../lib/table.mjs";
import { atOnce, pipelines } from "./peers.mjs";
import { runOnce } from "./whole-runs.mjs";

const size = ["--sizes", "256MiB", "--workers", "1"];
const leastTogether = 0.99;
const leastByCopyEngine = 0.99;
const leastByKernel = 0.97;

export function devicesAtOnce({ backend, device }) {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-bench-"));
  const run = (...flags) => runOnce(folder, backend.name, [...size, ...flags]).document;
  try {
    const rows = [];
    const compare = (name, rate, peer, least, unit = "GB/s") =>
      rows.push({ name, unit, rate, peer, ratio: rate / peer, least, reached: rate / peer >= least });
    if (backend.facts.devices.length > 1) {
      compareTogether(compare, run("--together", "--memory", "pinned", "--device", "0,1"));
      compareBetween(compare, run("--direction", "p2p", "--device", "0,1"));
    } else {
      console.log(`One device alone (${device.name}): nothing is measured at once or between devices.`);
    }
    comparePipeline(compare, run("--pipeline", "8,16", "--memory", "pinned,pageable", "--direction", "h2d"));
    printTable(
      `Against nvbandwidth ${atOnce.version} on two H200s, and a pipeline against one of bare CUDA calls (recorded figures)`,
      ["figure", "unit", "pinbench", "peer", "ratio", "bound", ""],
      rows.map((row) => [
        row.name,
        row.unit,
        fixed(row.rate),
        fixed(row.peer),
        ratioText(row.ratio),
        row.least,
        verdict(row.reached),
      ]),
    );
    return rows;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const rateOf = (cell) => cell.stats.at(-1).bandwidthGBps.median;
const sumOf = (rates) => rates.reduce((sum, rate) => sum + rate, 0);

function compareTogether(compare, { cells }) {
  for (const direction of ["h2d", "d2h"]) {
    const rates = cells.filter((cell) => cell.together && cell.direction === direction).map(rateOf);
    compare(`together ${direction}, sum`, sumOf(rates), sumOf(atOnce[direction]), leastTogether);
  }
}

function compareBetween(compare, { cells }) {
  for (const [path, peer] of Object.entries(atOnce.paths)) {
    const least = path.startsWith("kernel") ? leastByKernel : leastByCopyEngine;
    for (const cell of cells.filter((one) => one.path === path)) {
      compare(`p2p ${path}, ${cell.device} to ${cell.peer}`, rateOf(cell), peer, least);
    }
  }
}

function comparePipeline(compare, { cells }) {
  for (const { memory, chunks, gain } of pipelines) {
    const ofChunks = (count) => rateOf(cells.find((cell) => cell.memory === memory && cell.chunks === count));
    compare(`${chunks} chunks over 1, ${memory}`, ofChunks(chunks) / ofChunks(1), gain, 1, "gain");
  }
}
