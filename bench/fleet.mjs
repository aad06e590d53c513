// `npm run bench:fleet [-- --fleets 200] [--documents 10000] [--seed 1]`: how often `pinbench fleet` finds what is slow in
// simulated fleets with the noise that was recorded on a GPU, and calls others slow; the same of SuperBench's rule and of a
// fixed threshold; and what reading many results takes.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { fleetRates } from "./fleet/fleet-rates.mjs";
import { olderModel, simulatedFleetKinds } from "./fleet/simulated-fleet.mjs";
import { writeDocuments } from "./fleet/write-documents.mjs";
import { seededRandom } from "./lib/random.mjs";
import { fixed, printTable, verdict } from "./lib/table.mjs";

const { values } = parseArgs({
  options: {
    fleets: { type: "string", default: "200" },
    documents: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
  },
});
const fleets = Number(values.fleets);
const random = seededRandom(Number(values.seed));
const percent = (share) => `${fixed(100 * share, 1)} %`;

/** Times as fast: a GPU, or the first nodes, in copies of this kind of memory. */
const gpuAt = (node, gpu, times, memory = "pinned") => ({
  slow: [`${node} ${gpu}`],
  speed: (n, g, kind) => (n === node && g === gpu && kind.memory === memory ? times : 1),
});
const nodesAt = (count, times, memory = "pinned") => ({
  slow: Array.from({ length: 8 * count }, (_, i) => `${Math.floor(i / 8)} ${i % 8}`),
  speed: (n, _, kind) => (n < count && kind.memory === memory ? times : 1),
});
const most = 0.01;
const scenarios = [
  { name: "1000 nodes x 8, all healthy", nodes: 1000, most },
  { name: "the same, machines differing as the recorded ones", nodes: 1000, betweenMachines: true, most },
  {
    name: "of 1000 x 8 one GPU 10 % slow in pinned copies",
    nodes: 1000,
    ...gpuAt(500, 3, 0.9),
    least: 0.99,
    most,
  },
  {
    name: "the same, machines differing",
    nodes: 1000,
    betweenMachines: true,
    ...gpuAt(500, 3, 0.9),
    least: 0.99,
    most,
  },
  { name: "of 1000 x 8 3 % of nodes at half (x8 links)", nodes: 1000, ...nodesAt(30, 0.5), least: 1, most },
  {
    name: "of 1000 x 8 one node's pageable copies at a third",
    nodes: 1000,
    ...nodesAt(1, 1 / 3, "pageable"),
  },
  {
    name: "500 x 8 of one model, 500 x 8 of another",
    nodes: 1000,
    model: (node) => (node % 2 === 0 ? undefined : olderModel),
    most,
  },
  { name: "5 nodes x 8, all healthy", nodes: 5, betweenMachines: true, most },
  {
    name: "of 5 x 8 one GPU 10 % slow in pinned copies",
    nodes: 5,
    betweenMachines: true,
    ...gpuAt(1, 3, 0.9),
    least: 0.99,
    most,
  },
  {
    name: "of 5 x 8 one node at half",
    nodes: 5,
    betweenMachines: true,
    ...nodesAt(1, 0.5),
    least: 0.99,
    most,
  },
  { name: "5 nodes x 1, all healthy", nodes: 5, gpus: 1, betweenMachines: true, most },
  {
    name: "of 5 x 1 one 10 % slow in pinned copies",
    nodes: 5,
    gpus: 1,
    betweenMachines: true,
    ...gpuAt(1, 0, 0.9),
    least: 0.99,
    most,
  },
];

console.log(
  `npm run bench:fleet -- --fleets ${fleets} --documents ${values.documents} --seed ${values.seed}`,
);
const rows = scenarios.map(({ name, least, most: mostFalse, ...spec }) => {
  const { pinbench, SuperBench, fixed: threshold } = fleetRates(spec, fleets, random);
  const isReached =
    (least === undefined || pinbench.found >= least - 1e-9) &&
    (mostFalse === undefined || pinbench.falseOnes <= mostFalse + 1e-9);
  const rate = ({ found, falseOnes }) => [spec.slow === undefined ? "" : percent(found), percent(falseOnes)];
  const bounds = [
    ...(least === undefined ? [] : [`≥ ${percent(least)}`]),
    ...(mostFalse === undefined ? [] : [`≤ ${percent(mostFalse)}`]),
  ];
  return [
    name,
    ...rate(pinbench),
    bounds.join(", "),
    bounds.length === 0 ? "" : verdict(isReached),
    ...rate(SuperBench),
    ...rate(threshold),
  ];
});
printTable(
  `${simulatedFleetKinds} cells of each GPU; ${fleets} fleets of each: the share in which all that is slow was found, and in which anything else was called slow`,
  [
    "simulated",
    "pinbench: found",
    "false",
    "bounds",
    "",
    "SuperBench: found",
    "false",
    "10 % below the reference: found",
    "false",
  ],
  rows,
);

const folder = mkdtempSync(join(tmpdir(), "pinbench-fleet-"));
try {
  const bytes = writeDocuments(folder, Number(values.documents));
  const program = fileURLToPath(new URL("./fleet/many-documents.mjs", import.meta.url));
  const { results, readSeconds, judgeSeconds, cpuSeconds, peakGiB } = JSON.parse(
    execFileSync(process.execPath, [program, folder], { encoding: "utf8" }),
  );
  const seconds = readSeconds + judgeSeconds;
  printTable(
    `${results} results of 8 GPUs, ${fixed(bytes / 1024, 0)} KiB each`,
    ["what", "took", "bound", ""],
    [
      ["read", `${fixed(readSeconds, 1)} s`, "", ""],
      ["judged", `${fixed(judgeSeconds, 1)} s`, "", ""],
      ["in all", `${fixed(seconds, 1)} s`, "≤ 20 s", verdict(seconds <= 20)],
      ["CPU time", `${fixed(cpuSeconds, 1)} s`, "", ""],
      ["most memory", `${fixed(peakGiB)} GiB`, "≤ 1 GB", verdict(peakGiB * 1.0737 <= 1)],
    ],
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
