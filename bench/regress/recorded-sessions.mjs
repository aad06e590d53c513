// `node bench/regress/recorded-sessions.mjs [FILE] [FOLDER]`: noise between the sessions of a recording (made by
// record-sessions.mjs) and between their runs, by group of cells, for the priors of src/compare/noise.ts. Also checks
// each session against the others, with this pinbench and with the compiled one in FOLDER.
import { readFileSync } from "node:fs";
import { bySession, groupsOf, relativeTo, relativeValues } from "../../dist/compare/groups.js";
import { joinRuns } from "../../dist/compare/series.js";
import { parseCellId } from "../../dist/results/cell-id.js";
import { median } from "../../dist/stats/order-statistics.js";
import { squaresAboutMean, sumOf } from "../../dist/stats/variance.js";
import { inRoot } from "../../scripts/lib/project.mjs";
import { printTable } from "../lib/table.mjs";
import { check, loadRule, runsOf } from "./simulate.mjs";

const usual = new URL("../../results/nvidia-h200/sessions.json", import.meta.url);
const recording = JSON.parse(readFileSync(process.argv[2] ?? usual, "utf8"));

const cells = recording.cells.map(({ id }) => ({ id, ...parseCellId(id) }));
const sessions = recording.sessions.map(({ startedAt, runs }, session) => {
  const logs = Array.from({ length: runs }, (_, run) =>
    recording.cells.map(({ mediansGBps }) => Math.log(mediansGBps[session][run])),
  );
  return runsOf(cells, logs, { startMs: Date.parse(startedAt), gpu: recording.gpu });
});
const baseline = sessions.flat();
const groups = groupsOf(joinRuns({ baseline, first: [], fresh: [] }).series);
const hosts = groups.filter(({ kind }) => kind === "host").flatMap(({ members }) => members);
const ofHost = relativeValues(hosts, "baseline");

/** Standard deviations in per cent: between the sessions' medians, and of runs within a session. */
function deviations(values) {
  const sessions = bySession(values.values());
  const between = squaresAboutMean(sessions.map(median)) / (sessions.length - 1);
  const within = sumOf(sessions.map(squaresAboutMean)) / (baseline.length - sessions.length);
  return [between, within].map((variance) => `${(100 * Math.sqrt(variance)).toFixed(2)} %`);
}

const rows = groups.map(({ kind, direction, members }) => {
  const values = relativeValues(members, "baseline");
  const besideHost = kind === "host" ? ["", ""] : deviations(relativeTo(values, ofHost));
  return [kind, direction, members.length, ...deviations(values), ...besideHost];
});
printTable(
  `${recording.gpu}: standard deviations between ${recording.sessions.length} sessions, and between their ${baseline.length} runs`,
  ["group", "direction", "cells", "sessions", "runs", "sessions beside host", "runs beside host"],
  rows,
);

const names = sessions.map((_, i) => i);
/** Numbers of the baseline's sessions, and of the candidate's. */
const pairs = names.flatMap((candidate) => {
  const others = names.filter((i) => i !== candidate);
  return [...others.map((i) => [[i], candidate]), [others, candidate]];
});
const folders = [inRoot("."), ...process.argv.slice(3)];
const rules = await Promise.all(folders.map(loadRule));
const percent = (change) => `${(100 * change).toFixed(1)} %`;
const verdicts = pairs.map(([before, candidate]) => {
  const comparisons = rules.map((rule) =>
    check(
      rule,
      before.flatMap((i) => sessions[i]),
      sessions[candidate],
    ),
  );
  const judged = comparisons[0].groups.filter(({ kind }) => kind !== "host");
  const [worst] = judged.sort((a, b) => a.change - b.change);
  return [
    before.map((i) => i + 1).join(" + "),
    candidate + 1,
    `${worst.direction} ${worst.kind} ${percent(worst.change)}`,
    ...comparisons.map(({ outcome }) => outcome),
  ];
});
printTable(
  "checks of a session against others, and their largest loss",
  ["baseline", "check", "largest loss", ...folders.map((_, i) => (i === 0 ? "outcome" : "before"))],
  verdicts,
);
