// `node bench regress [--before FOLDER] [--cases 400] [--seed 1]`: checks of simulated machines with different noise.
// Counts how often a check finds a change, and how often it fails an unchanged machine. FOLDER is another compiled
// pinbench that judges the same cases.
import { parseArgs } from "node:util";
import { inRoot } from "../scripts/lib/project.mjs";
import { printTable } from "./lib/table.mjs";
import { runsOfFolder, timeFolders } from "./regress/compare-folders.mjs";
import { countCases } from "./regress/count-cases.mjs";
import { isReached, scenarios } from "./regress/scenarios.mjs";
import { sweeps } from "./regress/simulate.mjs";
import { worlds } from "./regress/worlds.mjs";

const { values } = parseArgs({
  options: {
    before: { type: "string" },
    cases: { type: "string", default: "400" },
    seed: { type: "string", default: "1" },
  },
});
const cases = Number(values.cases);
const names = Object.keys(worlds);
const sessionNumbers = [4, 1];

const now = { name: "now", folder: inRoot(".") };
const before = { name: "before", folder: values.before };
const rules = values.before === undefined ? [now] : [before, now];

/** The simulated situations: each scenario with each rule. */
const situations = sessionNumbers.flatMap((sessions) =>
  scenarios.flatMap((scenario, index) =>
    Object.keys(sweeps)
      .map(Number)
      .filter((size) => scenario.cells?.includes(size) ?? true)
      .map((size) => ({ sessions, scenario: index, size })),
  ),
);
/** The lines of the tables, each with a task per world. */
const lines = situations.flatMap((situation, index) => {
  const { times = 1, isOfThisRule = false } = scenarios[situation.scenario];
  return rules
    .filter((rule) => rule === now || !isOfThisRule)
    .map((rule) => ({ ...situation, index, rule, cases: Math.ceil(cases * times) }));
});
const tasks = lines.flatMap(({ index, rule, ...line }) =>
  names.map((world, i) => ({ ...line, world, rule: rule.folder, seeds: index * names.length + i })),
);
const counts = await countCases(tasks, Number(values.seed));

const missed = [];
let asked = 0;
for (const sessions of sessionNumbers) {
  const rows = lines.flatMap((line, index) =>
    line.sessions === sessions ? rowsOf(line, counts.slice(index * names.length)) : [],
  );
  printTable(
    `a baseline of ${sessionsText(sessions)} of 10 runs, a check of 5 runs: % of cases (* not as asked)`,
    ["", "cells", "rule", "cases", ...names],
    rows,
  );
}
console.log(`\n${asked - missed.length} of ${asked} asked figures are reached.`);
for (const one of missed) console.log(`not reached: ${one}`);

function sessionsText(sessions) {
  return sessions === 1 ? "1 session" : `${sessions} sessions`;
}

/** A row for each figure of a scenario. */
function rowsOf({ sessions, scenario, size, rule, cases: ofLine }, ofWorlds) {
  const { name, figures } = scenarios[scenario];
  return Object.entries(figures).map(([figure, { [sessions]: limit }]) => {
    const texts = names.map((world, i) => {
      const [times, of] = ofWorlds[i][figure];
      const reached = isReached(limit, world, times / of);
      const text = ((100 * times) / of).toFixed(1);
      if (rule !== now || reached === null) return `${text} `;
      asked += 1;
      if (!reached)
        missed.push(`${name}, ${figure}, ${size} cells, ${sessionsText(sessions)}, ${world}: ${text} %`);
      return `${text}${reached ? " " : "*"}`;
    });
    return [`${name}: ${figure}`, size, rule.name, ofLine, ...texts];
  });
}

const [seconds, secondsBefore] = timeFolders(rules.toReversed().map(({ folder }) => folder));
const ratio =
  secondsBefore === undefined ? "" : `, ${(seconds / secondsBefore).toFixed(2)} times that of before`;
console.log(`\ncompare of two folders of ${runsOfFolder} runs: ${seconds.toFixed(2)} s${ratio}`);
