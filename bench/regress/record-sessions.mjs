// `node bench/regress/record-sessions.mjs FOLDER… > FILE`: medians of the runs in baselines, by cell and session. Input
// of `recorded-sessions.mjs`.
import { readResultSet } from "../../dist/compare/result-set.js";
import { groupBySession } from "../../dist/compare/sessions.js";

const sets = await Promise.all(process.argv.slice(2).map((folder) => readResultSet(folder, "baseline")));
const runs = sets.flatMap((set) => set.runs);
const sessions = groupBySession(runs);
const [first] = runs;
const figureOf = (run, id) => run.cells.find(({ cell }) => cell.id === id)?.figures[0]?.value ?? null;
const cells = first.cells.map(({ cell }) => ({
  id: cell.id,
  direction: cell.direction,
  memory: cell.memory,
  sizeBytes: cell.sizeBytes,
  workers: cell.workers,
  mediansGBps: sessions.map((group) => group.map((run) => Number(figureOf(run, cell.id).toPrecision(6)))),
}));
const recording = {
  gpu: first.fingerprint.gpu,
  fingerprint: first.fingerprint,
  sessions: sessions.map((group) => ({ startedAt: group[0].startedAt, runs: group.length })),
};
const lines = cells.map((cell) => `    ${JSON.stringify(cell)}`).join(",\n");
console.log(`${JSON.stringify(recording, null, 2).slice(0, -2)},\n  "cells": [\n${lines}\n  ]\n}`);
