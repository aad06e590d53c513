// `node bench fleet [--fleets 200] [--documents 10000] [--seed 1]`: how often `pinbench fleet` finds slow nodes and GPUs in
// simulated fleets with noise recorded on a GPU, and calls others slow; the same for SuperBench's rule and a
// fixed threshold; and the time to read many results.
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { claimRates, claimScenarios } from "./fleet/claims.mjs";
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
    // Prints one scenario's rates as JSON: this program starts itself for each scenario.
    scenario: { type: "string" },
    // Only the claims on fleets whose truth is known; or one row of them, as JSON.
    claims: { type: "boolean", default: false },
    claim: { type: "string" },
    // Only rows that match the pattern: "heavy.* 2 x 1".
    only: { type: "string", default: "" },
  },
});
const fleets = Number(values.fleets);
const percent = (share) => `${fixed(100 * share, 1)} %`;

/** Speed factor of a GPU, or of the first nodes, in copies of this kind of memory. */
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
  { name: "the same, machines differ as recorded ones do", nodes: 1000, betweenMachines: true, most },
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
  {
    name: "1000 x 8, all healthy, pinned copies alone",
    nodes: 1000,
    betweenMachines: true,
    memories: ["pinned"],
    most,
  },
];

if (values.scenario !== undefined) {
  const index = Number(values.scenario);
  const random = seededRandom(1000 * Number(values.seed) + index);
  console.log(JSON.stringify(fleetRates(scenarios[index], fleets, random)));
  process.exit();
}

if (values.claim !== undefined) {
  const index = Number(values.claim);
  const random = seededRandom(5000 * Number(values.seed) + index);
  console.log(JSON.stringify(claimRates(claimScenarios[index], fleets, random)));
  process.exit();
}

if (values.claims) {
  const only = values.only === "" ? "" : ` --only '${values.only}'`;
  console.log(`node bench fleet --claims${only} --fleets ${fleets} --seed ${values.seed}`);
  await printClaims();
  process.exit();
}

/** This program's JSON for each flag, in order; runs on all processors. */
async function ofEach(flag, indices) {
  const results = new Map();
  const left = [...indices];
  await Promise.all(
    Array.from({ length: availableParallelism() }, async () => {
      for (let index = left.shift(); index !== undefined; index = left.shift()) {
        const program = [fileURLToPath(import.meta.url), flag, String(index)];
        const flags = ["--fleets", values.fleets, "--seed", values.seed];
        const { stdout } = await promisify(execFile)(process.execPath, [...program, ...flags]);
        results.set(index, JSON.parse(stdout));
      }
    }),
  );
  return indices.map((index) => results.get(index));
}

async function printClaims() {
  const name = ({ name, isKnown }) => `${name}${isKnown ? "" : ", kind not known"}`;
  const size = ({ nodes, gpus }) => `${nodes} x ${gpus}`;
  const indices = [...claimScenarios.keys()].filter((index) => {
    const scenario = claimScenarios[index];
    return new RegExp(values.only).test(`${name(scenario)} ${size(scenario)}`);
  });
  const rates = await ofEach("--claim", indices);
  const rows = indices.map((index, i) => {
    const scenario = claimScenarios[index];
    const { accused, accusedAgain, claimed, found, foundAgain, falsehoods, example } = rates[i];
    // One of less than a hundred fleets shows no rate above 1 %.
    const most = Math.max(1, 0.01 * fleets);
    const isReached =
      Math.max(accused, accusedAgain) <= most &&
      Math.min(found, foundAgain) >= 0.99 * claimed &&
      falsehoods === 0;
    return [
      ...[name(scenario), size(scenario), String(fleets), `${accused}, ${accusedAgain}`],
      claimed === 0 ? "not claimed" : `${found}, ${foundAgain} of ${claimed}`,
      ...[String(falsehoods), verdict(isReached), example === null ? "" : example.slice(0, 60)],
    ];
  });
  printTable(
    "fleets with a false accusation (at most 1 %), also after slow nodes were measured again; slow GPUs found, of those that the text says are found (99 %), also after that; fleets with a false sentence (none)",
    ["simulated", "nodes x GPUs", "fleets", "accused", "found", "false sentences", "", ""],
    rows,
  );
}

console.log(`node bench fleet --fleets ${fleets} --documents ${values.documents} --seed ${values.seed}`);
const rates = await ofEach("--scenario", [...scenarios.keys()]);
const rows = scenarios.map(({ name, least, most: mostFalse, ...spec }, index) => {
  const { pinbench, SuperBench, fixed: threshold } = rates[index];
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
  `${simulatedFleetKinds} cells of each GPU; ${fleets} fleets of each: share with all slow nodes and GPUs found, and share with anything else called slow`,
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

await printClaims();

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
