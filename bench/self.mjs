// `npm run bench [-- --backend cuda] [-- --output FILE]`: what pinbench itself costs, as ratios measured side by side.
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
  "What pinbench itself costs",
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
