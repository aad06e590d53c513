import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CellResult } from "../../src/results/cell-schema.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { seeded } from "./seeded.js";

/** Results of many nodes as files: recorded results of an H200 under other names. */

const recorded = fileURLToPath(new URL("../../results/nvidia-h200/quick.json", import.meta.url));

/** Changes a cell's rates on a node. */
export type Slowed = (host: string, cell: CellResult) => number;

/** The names n01, n02 and so on. */
export const nodeNames = (count: number) =>
  Array.from({ length: count }, (_, i) => `n${String(i + 1).padStart(2, "0")}`);

/** Writes results of a number of nodes into a new folder. Their rates differ by some tenths of a per cent. */
export function writeNodes(folder: string, count: number, slowed: Slowed = () => 1): void {
  mkdirSync(folder);
  const result = parseResult(readFileSync(recorded, "utf8"));
  const { normal } = seeded(7);
  for (const host of nodeNames(count)) {
    const document: ResultDocument = {
      ...result,
      run: { ...result.run, id: `run-${host}` },
      host: { ...result.host!, hostname: host },
      devices: result.devices.map((device) => ({ ...device, uuid: `GPU-${host}` })),
      cells: result.cells.map((cell) => scaled(cell, slowed(host, cell) * (1 + 0.002 * normal()))),
    };
    writeFileSync(join(folder, `${host}.json`), JSON.stringify(document));
  }
}

function scaled(cell: CellResult, factor: number): CellResult {
  const times = (figure: number | null) => (figure === null ? null : figure * factor);
  const stats = cell.stats.map((one) => {
    const { median, low, high } = one.bandwidthGBps;
    const rates = { median: median * factor, low: times(low), high: times(high) };
    return { ...one, bandwidthGBps: { ...one.bandwidthGBps, ...rates } };
  });
  return { ...cell, stats };
}
