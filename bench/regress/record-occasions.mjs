// `node bench/regress/record-occasions.mjs FOLDER… > results/…/occasions.json`: the medians of the runs in some baselines, by cell
// and occasion, for the constants of src/compare/evidence/occasion-noise.ts and for simulations.
import { groupByOccasion } from "../../dist/compare/occasions.js";
import { readResultSet } from "../../dist/compare/result-set.js";

const sets = await Promise.all(process.argv.slice(2).map((folder) => readResultSet(folder, "baseline")));
const runs = sets.flatMap((set) => set.runs);
const occasions = groupByOccasion(runs);
const [first] = runs;
const figureOf = (run, id) => run.cells.find(({ cell }) => cell.id === id)?.figures[0]?.value ?? null;
const cells = first.cells.map(({ cell }) => ({
  id: cell.id,
  direction: cell.direction,
  memory: cell.memory,
  sizeBytes: cell.sizeBytes,
  workers: cell.workers,
  mediansGBps: occasions.map((group) => group.map((run) => Number(figureOf(run, cell.id).toPrecision(6)))),
}));
const recording = {
  gpu: first.fingerprint.gpu,
  fingerprint: first.fingerprint,
  occasions: occasions.map((group) => ({ startedAt: group[0].startedAt, runs: group.length })),
};
const lines = cells.map((cell) => `    ${JSON.stringify(cell)}`).join(",\n");
console.log(`${JSON.stringify(recording, null, 2).slice(0, -2)},\n  "cells": [\n${lines}\n  ]\n}`);
