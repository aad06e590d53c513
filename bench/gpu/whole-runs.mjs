// The command line in fresh processes: duration of the presets, number of converged cells, and noise between processes.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "../../dist/stats/order-statistics.js";
import { MiB } from "../lib/session.mjs";
import { fixed, printTable, verdict } from "../lib/table.mjs";

const cli = fileURLToPath(new URL("../../bin/pinbench.js", import.meta.url));

/** Runs pinbench; returns its document and the wall time of the whole process. */
export function runOnce(folder, backend, flags) {
  const file = join(folder, "result.json");
  const started = performance.now();
  const child = spawnSync(
    process.execPath,
    [cli, "run", "--backend", backend, "--quiet", "--output", file, ...flags],
    { encoding: "utf8" },
  );
  const wallSeconds = (performance.now() - started) / 1000;
  if (child.status !== 0) throw new Error(`pinbench run ended with ${child.status}: ${child.stderr}`);
  return { document: JSON.parse(readFileSync(file, "utf8")), wallSeconds };
}

export function wholeRuns({ backend, runs, flags }) {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-bench-"));
  try {
    const quick = Array.from({ length: 5 }, () => runOnce(folder, backend, ["--preset", "quick", ...flags]));
    const sweeps = Array.from({ length: runs }, () => runOnce(folder, backend, flags));
    return {
      quickSeconds: quick.map(({ wallSeconds }) => wallSeconds),
      sweeps: sweeps.map(summarizeSweep),
      spread: spreadOf(sweeps.map(({ document }) => document)),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function summarizeSweep({ document, wallSeconds }) {
  const large = document.cells.filter(({ memory, sizeBytes }) => memory === "pinned" && sizeBytes >= MiB);
  return {
    wallSeconds,
    cells: document.cells.length,
    largePinned: large.length,
    largePinnedConverged: large.filter(({ outcome }) => outcome === "converged").length,
    converged: document.cells.filter(({ outcome }) => outcome === "converged").length,
    halfWidths: document.cells
      .filter(({ outcome }) => outcome !== "converged")
      .map(({ id, stats }) => ({ id, relativeHalfWidth: stats[0].relativeHalfWidth })),
  };
}

/** For each cell: the processes' medians, and their range and standard deviation relative to their median. */
function spreadOf(documents) {
  return documents[0].cells.map(({ id, memory, sizeBytes, workers, direction }) => {
    const mediansGBps = documents.map(
      ({ cells }) => cells.find((cell) => cell.id === id).stats[0].bandwidthGBps.median,
    );
    const middle = median(mediansGBps);
    const mean = mediansGBps.reduce((sum, rate) => sum + rate, 0) / mediansGBps.length;
    const variance =
      mediansGBps.reduce((sum, rate) => sum + (rate - mean) ** 2, 0) / Math.max(1, mediansGBps.length - 1);
    return {
      id,
      memory,
      sizeBytes,
      workers,
      direction,
      mediansGBps,
      range: (Math.max(...mediansGBps) - Math.min(...mediansGBps)) / middle,
      deviation: Math.sqrt(variance) / mean,
    };
  });
}

export function printWholeRuns({ quickSeconds, sweeps, spread }) {
  printTable(
    "Wall time of whole processes (s); bounds: quick 1.2, default sweep 22",
    ["run", "wall", "", "converged", "pinned from 1 MiB converged", ""],
    [
      ...quickSeconds.map((seconds) => ["quick", fixed(seconds), verdict(seconds <= 1.2), "", "", ""]),
      ...sweeps.map((sweep) => [
        "default",
        fixed(sweep.wallSeconds),
        verdict(sweep.wallSeconds <= 22),
        `${sweep.converged} of ${sweep.cells}`,
        `${sweep.largePinnedConverged} of ${sweep.largePinned}`,
        verdict(sweep.largePinnedConverged >= 0.9 * sweep.largePinned),
      ]),
    ],
  );
  const groups = Map.groupBy
    ? Map.groupBy(spread, groupName)
    : spread.reduce((map, cell) => {
        map.set(groupName(cell), [...(map.get(groupName(cell)) ?? []), cell]);
        return map;
      }, new Map());
  printTable(
    `Spread between ${sweeps.length} fresh processes: (max - min) / median of the processes' medians`,
    ["cells", "count", "median range", "largest range", "median deviation", ""],
    [...groups].map(([name, cells]) => {
      const ranges = cells.map(({ range }) => range);
      const largest = Math.max(...ranges);
      return [
        name,
        cells.length,
        `${fixed(100 * median(ranges))} %`,
        `${fixed(100 * largest)} %`,
        `${fixed(100 * median(cells.map(({ deviation }) => deviation)))} %`,
        name === "pinned, from 1 MiB" ? verdict(largest <= 0.01) : "",
      ];
    }),
  );
}

function groupName({ memory, sizeBytes }) {
  return `${memory}, ${sizeBytes >= MiB ? "from" : "below"} 1 MiB`;
}
