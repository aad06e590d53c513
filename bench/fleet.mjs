// `node bench fleet [--fleets 300] [--documents 10000] [--seed 1] [--before FOLDER] [--only PATTERN]`: how often
// `pinbench fleet` finds slow nodes and flags healthy ones in 104 simulated scenarios, compared with another checkout's
// rule (compiled to FOLDER/dist); and the time and memory for judging many results.
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { ratesOf, ruleNow, ruleOf } from "./fleet/rates.mjs";
import { scenarios } from "./fleet/scenarios.mjs";
import { writeDocuments } from "./fleet/write-documents.mjs";
import { seededRandom } from "./lib/random.mjs";
import { fixed, printTable, verdict } from "./lib/table.mjs";

const { values } = parseArgs({
  options: {
    fleets: { type: "string", default: "300" },
    documents: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
    before: { type: "string" },
    only: { type: "string", default: "" },
    // Internal: prints one scenario's counts as JSON. This program starts itself once per scenario.
    scenario: { type: "string" },
  },
});
const fleets = Number(values.fleets);
const sizeOf = ({ count, gpus }) => `${count} x ${gpus}`;

/** Fewer fleets if they are large, so that scenarios have similar numbers of GPUs. */
const fleetsOf = ({ count, gpus }) => (count * gpus > 200 ? Math.ceil(fleets / 3) : fleets);

if (values.scenario !== undefined) {
  const index = Number(values.scenario);
  const rules = [ruleNow, ...(values.before === undefined ? [] : [await ruleOf(resolve(values.before))])];
  const counts = rules.map((rule) => {
    // The same fleets for each rule.
    const random = seededRandom(1000 * Number(values.seed) + index);
    return ratesOf(rule, scenarios[index], fleetsOf(scenarios[index]), random);
  });
  console.log(JSON.stringify(counts));
  process.exit();
}

/** Each scenario's counts, in order, from child processes of this program on all processors. */
async function ofEach(indices) {
  const results = new Map();
  const left = [...indices];
  await Promise.all(
    Array.from({ length: availableParallelism() }, async () => {
      for (let index = left.shift(); index !== undefined; index = left.shift()) {
        const flags = ["--scenario", String(index), "--fleets", values.fleets, "--seed", values.seed];
        const before = values.before === undefined ? [] : ["--before", values.before];
        const program = fileURLToPath(import.meta.url);
        const { stdout } = await promisify(execFile)(process.execPath, [program, ...flags, ...before]);
        results.set(index, JSON.parse(stdout));
      }
    }),
  );
  return indices.map((index) => results.get(index));
}

const share = (part, whole) => (whole === 0 ? "" : `${fixed((100 * part) / whole, 1)} %`);
const columns = ({ slow, found, accused, fleetsAccused, fleets: all }) => [
  share(found, slow),
  share(found, found + accused),
  share(fleetsAccused, all),
];

async function printScenarios() {
  const pattern = new RegExp(values.only);
  const indices = [...scenarios.keys()].filter((index) =>
    pattern.test(`${scenarios[index].name} ${sizeOf(scenarios[index])}`),
  );
  const counts = await ofEach(indices);
  const sides = counts[0].length;
  const sum = (side) =>
    Object.fromEntries(
      Object.keys(counts[0][side]).map((key) => [key, counts.reduce((all, one) => all + one[side][key], 0)]),
    );
  const rows = indices.map((index, i) => {
    const scenario = scenarios[index];
    const [now] = counts[i];
    const most = Math.max(1, 0.01 * now.fleets);
    return [
      ...[scenario.name, sizeOf(scenario), scenario.isKnown ? "yes" : "no", String(now.fleets)],
      ...counts[i].flatMap(columns),
      verdict(now.fleetsAccused <= most),
    ];
  });
  const sums = Array.from({ length: sides }, (_, side) => columns(sum(side))).flat();
  const all = ["all", "", "", String(sum(0).fleets), ...sums, ""];
  printTable(
    "slow nodes found (recall), slow nodes among the named ones (precision), and fleets with a healthy node accused (at most 1 %, or one fleet), after slow nodes were measured again",
    [
      ...["simulated", "nodes x GPUs", "reference", "fleets"],
      ...[
        "now: recall",
        "precision",
        "accused",
        ...(sides > 1 ? ["before: recall", "precision", "accused"] : []),
      ],
      "",
    ],
    [...rows, all],
  );
}

function printTimes() {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-fleet-"));
  try {
    const bytes = writeDocuments(folder, Number(values.documents));
    const program = fileURLToPath(new URL("./fleet/many-documents.mjs", import.meta.url));
    const { results, readSeconds, judgeSeconds, cpuSeconds, peakGB } = JSON.parse(
      execFileSync(process.execPath, [program, folder], { encoding: "utf8" }),
    );
    const seconds = readSeconds + judgeSeconds;
    printTable(
      `${results} results of 8 GPUs, ${fixed(bytes / 1024, 0)} KiB each`,
      ["what", "took", "bound", ""],
      [
        ["read", `${fixed(readSeconds, 1)} s`, "", ""],
        ["judged", `${fixed(judgeSeconds, 1)} s`, "", ""],
        ["in all", `${fixed(seconds, 1)} s`, "≤ 15 s", verdict(seconds <= 15)],
        ["CPU time", `${fixed(cpuSeconds, 1)} s`, "", ""],
        ["most memory", `${fixed(peakGB)} GB`, "≤ 0.5 GB", verdict(peakGB <= 0.5)],
      ],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

console.log(`node bench fleet --fleets ${fleets} --documents ${values.documents} --seed ${values.seed}`);
await printScenarios();
if (Number(values.documents) > 0) printTimes();
