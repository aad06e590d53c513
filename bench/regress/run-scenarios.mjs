// `node bench/regress/run-scenarios.mjs [--comparisons 2000] [--seed 1] [--only TEXT]`: the table of scenarios by itself.
import { parseArgs } from "node:util";
import { seededRandom } from "../lib/random.mjs";
import { fixed, printTable, verdict } from "../lib/table.mjs";
import { gpus, rateOf, scenarios } from "./scenarios.mjs";

const { values } = parseArgs({
  options: {
    comparisons: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "" },
  },
});
const random = seededRandom(Number(values.seed));
const rows = [];
for (const scenario of scenarios.filter(({ name }) => name.includes(values.only))) {
  const cells = gpus.flatMap((gpu) => {
    const { share, never } = rateOf(scenario, gpu, Number(values.comparisons), random);
    return [
      `${fixed(100 * share)} %${never > 0 ? ` (${never} called well)` : ""}`,
      verdict(scenario.isWell(share) && never === 0),
    ];
  });
  rows.push([scenario.name, scenario.bound, ...cells]);
  console.error(rows.at(-1).join("  "));
}
printTable(
  `pinbench check, a baseline of 10 processes a session and three sessions, or one; ${values.comparisons} times each`,
  ["simulated", "bound", ...gpus.flatMap(({ name }) => [name, ""])],
  rows,
);
