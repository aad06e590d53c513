// `node bench live [--only plain,timm] [--python python3] [--seconds 20] [--deadline 290] [--tune-flags=FLAGS]
// [--folder FOLDER] [--output FOLDER] [--places 2] [--no-grid] [--no-search] [--tiny]`: `pinbench tune -- COMMAND` in real
// trainings, against a grid of whole untouched runs, then beside the fastest of them: in turns, or with two places (a GPU
// and half of the CPUs each) at the same time. Each training takes --deadline seconds. The folder --output has the
// measurements from the first run on: for each training a file of figures and the programs' output.
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describeSetting } from "../dist/results/loader-setting.js";
import { fixed, printTable, ratioText } from "./lib/table.mjs";
import { frameworkNames, makeFramework } from "./live/frameworks.mjs";
import { measureFramework } from "./live/measure-framework.mjs";
import { makePlaces } from "./live/places.mjs";
import { gridRates, verdictRows } from "./live/verdicts.mjs";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: frameworkNames.filter((name) => name !== "ddp").join(",") },
    python: { type: "string", default: "python3" },
    seconds: { type: "string", default: "20" },
    deadline: { type: "string", default: "290" },
    "tune-flags": { type: "string", default: "" },
    folder: { type: "string", default: join(tmpdir(), "pinbench-live-data") },
    places: { type: "string", default: "1" },
    output: { type: "string", default: "live-results" },
    "no-grid": { type: "boolean", default: false },
    "no-search": { type: "boolean", default: false },
    tiny: { type: "boolean", default: false },
  },
});

const words = (text) => text.split(" ").filter((word) => word !== "");
const names = values.only.split(",");
const unknown = names.filter((name) => !frameworkNames.includes(name));
if (unknown.length > 0) {
  console.error(`There is no training ${unknown.join(", ")}; there are ${frameworkNames.join(", ")}.`);
  process.exit(2);
}
mkdirSync(values.output, { recursive: true });

const places = makePlaces(Number(values.places));
const options = {
  places,
  seconds: Number(values.seconds),
  tuneFlags: words(values["tune-flags"]),
  isGridRun: !values["no-grid"],
  isSearched: !values["no-search"],
  // A user's likely setting, and the start of the search.
  start: { numWorkers: 4, pinMemory: false, prefetchFactor: 2, persistentWorkers: false },
};

console.log(`${places.length} places of ${places[0].cpus} CPUs, trainings: ${names.join(", ")}`);
const startedMs = performance.now();
const elapsedSeconds = () => (performance.now() - startedMs) / 1000;
const rows = [];
for (const [index, name] of names.entries()) {
  const log = (text) => appendFileSync(join(values.output, `${name}.log`), text);
  const keep = (result) =>
    writeFileSync(join(values.output, `${name}.json`), `${JSON.stringify(result, null, 1)}\n`);
  const framework = makeFramework(name, values, places[0].cpus);
  const beganSeconds = elapsedSeconds();
  const deadlineSeconds = Number(values.deadline) * (index + 1) - beganSeconds;
  const result = await measureFramework(framework, { ...options, deadlineSeconds }, log, keep);
  rows.push(...verdictRows(result, framework.isAlike));
  const grid = gridRates(result, framework.isAlike);
  printTable(
    `${name}: untouched runs of ${values.seconds} s, ${fixed(elapsedSeconds() - beganSeconds, 0)} s in all`,
    ["setting", "batches/s", "of the best", "runs"],
    grid.map(({ setting, rate, rates }) => [
      describeSetting(setting, true),
      fixed(rate),
      ratioText(rate / grid[0].rate),
      rates.map((one) => fixed(one)).join(" "),
    ]),
  );
}

printTable("requirements", ["training", "what", "value", "against", ""], rows);
if (rows.some((row) => row.at(-1) === "BELOW")) process.exitCode = 1;
