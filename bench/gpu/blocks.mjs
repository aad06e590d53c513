// Scattered blocks: `pinbench run --blocks` and the bare program of bench/block_loop.cpp in turns, each in a fresh
// process, so that differences between machines and minutes affect both alike. Also compared with earlier figures of
// such a program (peers.mjs), which are all there is for the kernel and for gathering.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "../../dist/stats/order-statistics.js";
import { KiB, MiB } from "../lib/session.mjs";
import { fixed, printTable, ratioText } from "../lib/table.mjs";
import { scatteredBlocks } from "./peers.mjs";
import { runOnce } from "./whole-runs.mjs";

const program = fileURLToPath(new URL("../../build/Release/block_loop", import.meta.url));
const blocksPerCopy = 4096;
const samples = 7;

/** There are no earlier figures for D2H from pageable memory. */
const kinds = [...Object.keys(scatteredBlocks), "d2h pageable loop"];

/** GB/s by kind and block bytes; a key is `"h2d pinned loop 4096"`. */
function bareRates(library, { blocks, poolBytes }) {
  const flags = { library, blocks: blocks.join(), count: blocksPerCopy, pool: poolBytes, samples };
  const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  const lines = execFileSync(program, words, { encoding: "utf8" }).trim().split("\n");
  return new Map(
    lines
      .map((line) => JSON.parse(line))
      .map((figure) => [
        `${figure.direction} ${figure.memory} ${figure.way} ${figure.blockBytes}`,
        figure.medianGBps,
      ]),
  );
}

/** The same rates from pinbench. Measures only the compared cells, so that a turn takes seconds. */
function pinbenchRates(folder, backend, rows) {
  const { cells } = runOnce(folder, backend.name, [
    ...["--samples", `${samples}`],
    ...["--cells", rows.map(({ cell }) => cell).join()],
  ]).document;
  const rateOf = ({ id, outcome, stats }) => {
    if (!stats) throw new Error(`${id} was not measured: ${outcome}`);
    return stats[0].bandwidthGBps.median;
  };
  return new Map(cells.map((cell) => [cell.id, rateOf(cell)]));
}

function rowOf(kind, bytes, poolBytes) {
  const [direction, memory, way] = kind.split(" ");
  const copyBytes = bytes * Math.min(blocksPerCopy, Math.floor(poolBytes / 2 / bytes));
  return {
    kind,
    way,
    bytes,
    key: `${kind} ${bytes}`,
    cell: `d0/${direction}/${memory}/${copyBytes}/w1/throughput/cold/blocks-${bytes}-${way}`,
    // Earlier figures are for this pool only; smaller pools are for trying the benchmark.
    earlierGBps: poolBytes === 512 * MiB ? scatteredBlocks[kind]?.[bytes] : undefined,
  };
}

export function scatteredCopies({ backend }, { blocks, poolBytes, turns }) {
  const hasBatch = !backend.facts.missingSymbols.includes("cuMemcpyBatchAsync");
  const rows = kinds
    .flatMap((kind) => blocks.map((bytes) => rowOf(kind, bytes, poolBytes)))
    .filter(({ way }) => way !== "batch" || hasBatch);
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "pinbench-bench-"));
  const bare = [];
  const own = [];
  try {
    for (let turn = 0; turn < turns; ++turn) {
      // The order alternates, so that neither always follows the other.
      const measureBare = () => bare.push(bareRates(backend.library, { blocks, poolBytes }));
      const measureOwn = () => own.push(pinbenchRates(folder, backend, rows));
      for (const measure of turn % 2 === 0 ? [measureBare, measureOwn] : [measureOwn, measureBare]) measure();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  const figures = rows.map((row) => figureOf(row, bare, own));
  const seconds = (performance.now() - started) / 1000;
  print(figures, { turns, seconds });
  return figures;
}

function figureOf({ kind, bytes, key, cell, earlierGBps }, bare, own) {
  const pinbenchByTurnGBps = own.map((rates) => rates.get(cell));
  const figure = { kind, bytes, cell, pinbenchByTurnGBps, earlierGBps };
  if (!bare[0].has(key)) return figure;
  const bareByTurnGBps = bare.map((rates) => rates.get(key));
  return { ...figure, bareByTurnGBps, ratios: pinbenchByTurnGBps.map((rate, i) => rate / bareByTurnGBps[i]) };
}

function print(figures, { turns, seconds }) {
  printTable(
    `Scattered blocks against a bare program (GB/s; medians of ${turns} turns, range of their ratios; ${fixed(seconds, 0)} s in all)`,
    ["copied", "KiB", "bare", "pinbench", "ratio", "range", "earlier", "pinbench/earlier"],
    figures.map(({ kind, bytes, bareByTurnGBps, pinbenchByTurnGBps, ratios, earlierGBps }) => [
      kind,
      bytes / KiB,
      ratios ? fixed(median(bareByTurnGBps)) : "-",
      fixed(median(pinbenchByTurnGBps)),
      ratios ? ratioText(median(ratios)) : "-",
      ratios ? `${fixed(Math.min(...ratios), 3)} to ${fixed(Math.max(...ratios), 3)}` : "-",
      earlierGBps ? fixed(earlierGBps, 1) : "-",
      earlierGBps ? fixed(median(pinbenchByTurnGBps) / earlierGBps, 3) : "-",
    ]),
  );
}
