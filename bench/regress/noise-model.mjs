// Noise like that recorded on a GPU: the medians of cells in consecutive processes.
import { readFileSync } from "node:fs";
import { median } from "../../dist/stats/order-statistics.js";

const read = (name) =>
  JSON.parse(readFileSync(new URL(`../../results/nvidia-h200/${name}`, import.meta.url), "utf8"));

/**
 * Logarithms of each cell's medians in two parts: the offset that the cells of a memory kind share in a process (their
 * median), and each cell's own part.
 */
function takeApart(cells) {
  const centred = cells.map(({ mediansGBps }) => centre(mediansGBps.map(Math.log)));
  const offsets = {};
  for (const memory of new Set(cells.map((cell) => cell.memory))) {
    const rows = centred.filter((_, i) => cells[i].memory === memory);
    offsets[memory] = centre(rows[0].map((_, process) => median(rows.map((row) => row[process]))));
  }
  return cells.map((cell, i) => ({
    cell: {
      id: cell.id,
      device: 0,
      direction: cell.direction,
      memory: cell.memory,
      sizeBytes: cell.sizeBytes,
      workers: cell.workers,
      mode: "throughput",
      cache: "cold",
    },
    centre: median(cell.mediansGBps.map(Math.log)),
    offsets: offsets[cell.memory],
    own: centre(centred[i].map((value, process) => value - offsets[cell.memory][process])),
  }));
}

function centre(values) {
  const middle = median(values);
  return values.map((value) => value - middle);
}

/** The most processes that ran in a row on one occasion of a recording of several. */
function longestOccasion({ cells, occasions }) {
  const longest = occasions.reduce((best, { runs }, i) => (runs > occasions[best].runs ? i : best), 0);
  return cells.map((cell) => ({ ...cell, mediansGBps: cell.mediansGBps[longest] }));
}

/** 60 cells in 45 processes (results/nvidia-h200/noise.json). */
export const processesInARow = modelOf(read("noise.json").cells);
/** 28 cells, the host's memory among them, in 22 processes (results/nvidia-h200/occasions.json). */
export const withHostMemory = modelOf(longestOccasion(read("occasions.json")));

function modelOf(cells) {
  return { cells: takeApart(cells), processes: cells[0].mediansGBps.length };
}

/**
 * A session of `count` consecutive processes: [process][cell], logarithms of medians. The offsets are a
 * stretch of the recording, so that their drift and correlation are as recorded (at its end it runs backwards);
 * the cells' own parts are drawn one by one, with their heavy tails. With `keepOrder` they come from the same stretch,
 * so that each cell drifts by itself as in the recording. All parts are multiplied by `scale`.
 */
export function simulateSession({ cells, processes }, count, scale, random, { keepOrder = false } = {}) {
  const first = Math.floor(random() * processes);
  return Array.from({ length: count }, (_, step) => {
    const at = reflect(first + step, processes);
    return cells.map(({ centre, offsets, own }) => {
      const ownAt = keepOrder ? at : Math.floor(random() * processes);
      return centre + scale * (offsets[at] + own[ownAt]);
    });
  });
}

/** 0, 1, … n - 1, n - 1, … 1, 0, 0, 1, … */
function reflect(index, length) {
  const position = index % (2 * length);
  return position < length ? position : 2 * length - 1 - position;
}
