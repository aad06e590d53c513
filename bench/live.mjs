// `node bench live [--only plain,short-lm] [--python python3] [--seconds 20] [--deadline 290] [--tune-flags=FLAGS]
// [--folder FOLDER] [--output FOLDER] [--tiny]`: `pinbench tune --go` in real trainings, alternating with the same
// scripts with hand-edited settings. Each training takes up to --deadline seconds. --output gets a file of figures and
// the programs' output for each training, from its first run on. On an H200, these flags take up to 250 s:
// `--only plain,short-texts,short-lm --seconds 4 --deadline 80 --tune-flags="--budget 15s"`.
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { allowedCpus } from "../dist/host/cpus.js";
import { printTable } from "./lib/table.mjs";
import { frameworkNames, makeFramework } from "./live/frameworks.mjs";
import { measureFramework } from "./live/measure-framework.mjs";
import { verdictRows } from "./live/verdicts.mjs";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: frameworkNames.filter((name) => name !== "ddp").join(",") },
    python: { type: "string", default: "python3" },
    seconds: { type: "string", default: "20" },
    deadline: { type: "string", default: "290" },
    "tune-flags": { type: "string", default: "" },
    folder: { type: "string", default: join(tmpdir(), "pinbench-live-data") },
    output: { type: "string", default: "live-results" },
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

const cpus = allowedCpus().length;
console.log(`${cpus} CPUs, trainings: ${names.join(", ")}`);
const startedMs = performance.now();
const rows = [];
for (const [index, name] of names.entries()) {
  const log = (text) => appendFileSync(join(values.output, `${name}.log`), text);
  const keep = (result) =>
    writeFileSync(join(values.output, `${name}.json`), `${JSON.stringify(result, null, 1)}\n`);
  const framework = makeFramework(name, values, cpus);
  const options = {
    seconds: Number(values.seconds),
    tuneFlags: words(values["tune-flags"]),
    deadlineSeconds: Number(values.deadline) * (index + 1) - (performance.now() - startedMs) / 1000,
  };
  const result = await measureFramework(framework, options, log, keep);
  rows.push(...verdictRows(result, framework.isAlike));
}

printTable("requirements", ["training", "what", "value", "against", ""], rows);
if (rows.some((row) => row.at(-1) === "BELOW")) process.exitCode = 1;
