// `node bench self [--backend cuda] [--output FILE]`: the overhead of pinbench itself, as ratios measured in turns.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { fixed, printTable, verdict } from "./lib/table.mjs";
import { peakMemory } from "./self/peak-memory.mjs";
import { startUp } from "./self/start-up.mjs";
import { sweepShares } from "./self/sweep-shares.mjs";

const { values, positionals } = parseArgs({
  options: { backend: { type: "string", default: "auto" }, output: { type: "string" } },
  allowPositionals: true,
});

const figures = [
  await startUp(),
  ...(await sweepShares(values.backend, positionals)),
  await peakMemory(values.backend),
];
printTable(
  "Overhead of pinbench itself",
  ["figure", "measured", "bound", "", "from"],
  figures.map(({ name, value, bound, reached, from }) => [
    name,
    fixed(value, 3),
    bound,
    verdict(reached),
    from,
  ]),
);
if (values.output) writeFileSync(values.output, `${JSON.stringify(figures, null, 1)}\n`);
