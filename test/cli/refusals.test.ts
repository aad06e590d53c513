import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { historyPath } from "../../src/results/files/history-file.js";
import { baselineAt, certainly, expectSentence, sides, writeRuns } from "../helpers/baseline-folder.js";
import { buildMixedFleet } from "../helpers/fleet.js";
import { buildEntry } from "../helpers/history.js";
import { callCli } from "../helpers/in-process.js";
import { writeNodes } from "../helpers/recorded-nodes.js";
import { buildCell, buildDocument } from "../helpers/result-document.js";
import { runCli, small } from "../helpers/run-cli.js";
import { buildRuns } from "../helpers/runs.js";
import { buildTuning } from "../helpers/tuning.js";

/*
 * What a command refuses: the call, its exit code and a part of its sentence on stderr. It prints one sentence and nothing
 * else, and changes no file. A table has columns that are two blanks or more apart; `small` stands for a short run on the
 * emulated device.
 */

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

/** The folder in which commands are called: results, baselines, a history, and what is in the way of an output. */
function makeWorld(): string {
  const cwd = sides({});
  for (const name of ["folder.json", "after/sub", "empty", "history"]) mkdirSync(join(cwd, name));
  const [good, other] = buildRuns({ count: 2 });
  const tuning = buildTuning();
  const text = JSON.stringify(good);
  const sample = (value: string) => text.replace(/"durationNs":\[[^,]*/, `"durationNs":[${value}`);
  const files = {
    "good.json": good,
    "own.html": good,
    "bad.json": "{",
    "no-text.json": "",
    "cut-off.json": text.slice(0, 700),
    "other.json": '{"name": "pinbench"}',
    "comparison.json": '{"schemaVersion": 1, "kind": "comparison"}',
    "tuning.json": '{"schemaVersion": 1, "kind": "tuning"}',
    "null-sample.json": sample("null"),
    "endless-sample.json": sample("1e999"),
    "negative-sample.json": sample("-5"),
    "no-samples.json": text.replace(/"samples":\[\{.*?\}\]/, '"samples":[]'),
    "cell-twice.json": buildDocument({ cells: [buildCell({ GBps: 50 }), buildCell({ GBps: 51 })] }),
    file: "",
    precious: "line 1\nline 2\n",
    "train.py": "",
    "search.json": { plan: { blocks: "auto" } },
    "train.sh": "exit 0\n",
    "newer.json": { ...good, schemaVersion: 2 },
    "newer-tuning.json": { ...tuning, schemaVersion: 2 },
    "faulty-tuning.json": { ...tuning, tried: 7 },
    "list.json": [1, 2],
    "runs.json": { schemaVersion: 1, kind: "baseline", runs: ["good.json"] },
    "nodes.json": { schemaVersion: 1, kind: "fleet-run", nodes: [] },
    "no-reference.json": "{}",
    "half-reference.json": '{"listed": [{"gpu": "x"}]}',
    "faulty-config.json": { plan: { numa: "near" } },
    "fleet.json": buildMixedFleet(),
  };
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(cwd, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  writeFileSync(join(cwd, "large.json"), "");
  truncateSync(join(cwd, "large.json"), 200e6);
  for (const [name, runs] of Object.entries({
    "one-bad": [good!, '{"schemaVersion": 7}'],
    twice: [other!, other!],
  })) {
    mkdirSync(join(cwd, name));
    writeRuns(join(cwd, name), runs);
  }
  writeFileSync(historyPath(join(cwd, "history")), `${JSON.stringify(buildEntry(0))}\n`);
  writeNodes(join(cwd, "results"), 3);
  symlinkSync("before/a.json", join(cwd, "link.json"));
  symlinkSync("before/none.json", join(cwd, "nowhere.json"));
  symlinkSync("before", join(cwd, "linked"));
  for (const [folder, name] of [
    ["linked-history", "history.jsonl"],
    ["linked-list", "baseline.json"],
  ] as const) {
    mkdirSync(join(cwd, folder));
    writeRuns(join(cwd, folder), folder === "linked-list" ? buildRuns({ count: 2 }) : []);
    symlinkSync("../precious", join(cwd, folder, name));
  }
  cpSync(fixture("nvbandwidth-0.8.json"), join(cwd, "nvbandwidth.json"));
  return cwd;
}
let made: string | undefined;
const world = () => {
  made ??= makeWorld();
  return made;
};

/** All files of a folder but the large one, and what is in them. */
function contentsOf(folder: string): [string, string][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "large.json")
    .map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name), "utf8")]);
}

const rowsOf = (table: string) =>
  table
    .trim()
    .split("\n")
    .map((row) => row.split(/ {2,}/) as [call: string, code: string, sentence: string]);

const argsOf = (call: string) => {
  const [command = "", ...args] = call.split(" ").map((word) => (word === "''" ? "" : word));
  return command === "small" ? small(...args) : [command, ...args];
};

async function expectRefusal(call: string, code: string, sentence: string, cwd: string, env = {}) {
  const before = contentsOf(cwd);
  const finished = await callCli(argsOf(call), { cwd, env });
  expect(finished.stderr).toContain(sentence);
  expectSentence(finished, Number(code), /./);
  expect(contentsOf(cwd)).toEqual(before);
}

const commands = `
frobnicate                          2  there is no command "frobnicate". See
rnu                                 2  there is no command "rnu". Did you mean run? See
run --frobnicate                    2  there is no flag "--frobnicate". See pinbench run --help
fleet run --frobnicate              2  See pinbench fleet run --help
run --size 1MiB                     2  there is no flag "--size". Did you mean --sizes?
run fast                            2  no place for "fast". See pinbench run --help.
run --memory pinned pageable        2  too many arguments: pinbench run has no place for "pageable". See pinbench run --help.
run --memory pinned, pageable       2  A list has commas, and no spaces. Choose from pageable, 
check old.json                      2  Name the baseline with --baseline old.json.
run --sizes                         2  --sizes needs a value. See
run help                            2  pinbench run has no place for "help".
help tune check                     2  there is no help on "tune check".
help nosuch                         2  there is no help on "nosuch".
help terms nosuch                   2  no term of the tables is called "nosuch".
-v                                  2  there is no flag "-v": it is --version, or --all after a command.
version                             2  there is no command "version": it is --version.
completion tcsh                     2  Choose from bash, zsh, fish
fleet --threshold 5% run --nodes n  2  --threshold must follow its command.
`;

const run = `
run --json --format csv                2  --json and --format csv contradict each other
run --dry-run --format csv             2  not as csv. Leave --format csv out, or write --json instead
run --dry-run --output a.json          2  Leave --output out;
run --budget 100h                      2  "100h" is too long: the longest time is a day.
run --dry-run --config faulty-config.json  2  In faulty-config.json, plan.numa is wrong: "near" is not a NUMA node.
run --blocks auto --runs 2        2  --runs takes several
run --blocks auto,4KiB                 2  "auto" is not a size
run --blocks 4KiB --sizes 1MiB         2  --blocks and --sizes exclude each other
small --memory pined                   2  "pined" is not a memory kind. Did you mean pinned? Choose from pageable,
small --direction up                   2  "up" is not a direction. Choose from h2d, d2h, bidir, d2d
small --direction d2d --memory pinned  2  memory pinned has no effect on them
small --mode speed                     2  "speed" is not a mode
small --backend rocm                   2  Choose from auto, cuda, emulated
small --preset huge                    2  Choose from quick, default, fleet
small --format xml                     2  Choose from table, json, markdown, html, csv.
small --sizes 0                        2  "0" is no size to copy: a size is at least 1 byte
small --sizes -1                       2  "-1" is not a size
small --sizes 16M                      2  does not say whether M counts in 1024s or 1000s.
small --sizes 1TiB                     2  The plan does not fit this machine: it would
small --sizes 1KiB..1MiB*1             2  The factor "1" of the range "1KiB..1MiB*1" is not a number above 1.
small --sizes 1KiB..1MiB+0             2  "0" is no size to copy: a size is at least 1 byte
small --sizes 1B..1GiB+1B              2  more than 1000 sizes
small --workers 0                      2  "0" is not a number of workers
small --workers 10000                  2  cannot have 10000 workers: it has from 1 to 1024
small --device first                   2  "first" is not a device number
small --device 7                       3  There is no device 7: the driver reports only 0
small --device 0,1                     3  There is no device 1
small --precision 5                    2  "5" is not a share above 0 % and up to 50 %. Write for example 1% or 0.01.
small --budget 8                       2  "8" is not a duration. Write a number and a unit
small --samples 0                      2  "0" is not a number of samples: it must be a whole number from 1
small --runs 1001                     2  1000
small --max-pinned 1MiB                2  above the limit of 1 MiB (--max-pinned)
small --numa near                      2  "near" is not a NUMA node
small --numa 999                       2  This machine has no NUMA node 999. The nodes are 0
small --verify some                    2  Choose from last, every.
small --label rack=7 --label rack=8    2  The label rack is given twice, as "7" and as "8".
small --output result                  2  result has no extension, which names no format
small --output ''                      2  "" has no extension
small --output good.csv --output none/result.json  2  its folder does not exist
small --output good.csv --output folder.json       2  it is a folder
small --output good.csv --output file/result.json  2  a part of its path is a file
small --output ${"x".repeat(250)}.json             2  its name is too long
`;

const cell = "d0/d2h/pinned/65536/w2/latency/warm";
const cells = `
${[
  ...["--sizes 1MiB", "--workers 1", "--memory pinned", "--direction h2d", "--mode latency"],
  ...["--cache cold", "--device 0", "--preset quick"],
]
  .map((flag) => `run --cells ${cell} ${flag}  2  --cells and ${flag.split(" ")[0]} exclude each other`)
  .join("\n")}
run --cells ${cell},d0/h2d     2  "d0/h2d" is not a cell id. Write whole ids, as JSON results have them: d0/h2d/pinned/16777216/w4/
run --cells */pinned/*         2  "*/pinned/*" is not a cell id. Write whole ids
run --cells ''                 2  The list of cells is empty
`;

const compare = `
compare before after --threshold 0%                  2  "0%" is not a threshold, a share above 0 % and below 100 %
compare before after --threshold pagable=5%          2  Did you mean pageable=5%?
compare before after --threshold d0/h2d/*=5%         2  "d0/h2d/*" is not a memory kind. Give one kind to each --threshold. Choose from pageable,
compare before after --format csv                    2  Choose from table, json, markdown, html, junit, github
compare before after --output a.csv                  2  a.csv has the extension .csv, which names no format
compare before after c.json                          2  too many arguments
compare before none.json                             2  cannot read none.json: there is no such file.
compare before no-text.json                          2  no-text.json is empty. Give a file that
compare before cut-off.json                          2  cut-off.json is not JSON (
compare before other.json                            2  is JSON, but not a pinbench result: it has no schemaVersion.
compare before newer.json                            2  has schemaVersion 2, and this pinbench reads version 1.
compare before comparison.json                       2  is a comparison of results, not a result of a run. Give a file
compare before tuning.json                           2  is a result of \`pinbench tune\`, not a result of a run.
compare before null-sample.json                      2  at cells[0].samples[0].durationNs[0]
compare before negative-sample.json                  2  at cells[0].samples[0].durationNs[0]
compare before no-samples.json                       2  no-samples.json has no samples of the cell d0/h2d/pinned/
compare cell-twice.json before                       2  has the cell d0/h2d/pinned/16777216/w1/throughput/cold twice.
compare before large.json                            2  it has 190.8 MiB, and 128 MiB is the most that is read.
compare before empty                                 2  empty is a folder without a result in it.
compare before one-bad                               2  one-bad/b.json has schemaVersion 7
compare before twice                                 2  twice/b.json is the same run as twice/a.json. Remove one
compare none after                                   5  there is no baseline none. Make one with \`pinbench baseline none\`.
compare before after --output before                 2  before has no extension
compare before after --output before/a.json          2  before/a.json lies in the input before, which the output would
compare before after --output before/new.json        2  before/new.json lies in the input before, which the output would
compare before after --output after/sub/../a.json    2  after/sub/../a.json lies in the input after, which the output
compare before after --output link.json              2  link.json lies in the input before, which the output would
compare before after --output nowhere.json           2  nowhere.json lies in the input before, which the output would
compare before after --output linked/b.xml           2  linked/b.xml lies in the input before, which the output would
compare before/a.json good.json --output before/a.json  2  before/a.json is an input, which the output would overwrite
compare before/a.json good.json --output link.json   2  link.json is an input, which the output would overwrite
check --baseline one-bad --update                    2  b.json has schemaVersion 7
check                                                2  Name it with --baseline PATH, or as "baseline" in the
check --baseline none                                5  there is no baseline none. Make one with \`pinbench baseline none\`.
check --baseline none --confirm-after 25h            2  "25h" is too long: the longest time is a day.
history none                                         2  there is no history in none: it has no history.jsonl.
history history --cells */staged/*                   2  matches "*/staged/*". * stands for any characters
history history --cells a,,b                         2  "a,,b" has an empty entry
history history --output x.csv                       2  which names no format
history                                              2  is missing
`;

const baseline = `
baseline main --append                               5  there is no baseline main. Make one with \`pinbench baseline main\`
baseline empty --append                              5  no baseline in empty. Make one with \`pinbench baseline empty\`
baseline good.json --append                          2  is one result, and a baseline that takes new
baseline main --append --sizes 4KiB                  2  --append and --sizes exclude each other
baseline linked-list --append                            2  linked-list/baseline.json: it is a symbolic link
baseline main --every 1h                             2  --every needs several sessions, and there is only one.
baseline main --sessions 0                           2  "0" is not a number of sessions: it must be a whole number
baseline main --sessions 2 --every 0s                2  "0s" is not a time above 0
baseline main --sessions 2 --every 25h               2  "25h" is too long: the longest time is a day
baseline main --runs 0                               2  "0" is not a number of runs: it must be a whole number from 1
baseline main --output a.json                        2  there is no flag "--output"
baseline main --blocks auto                          2  a baseline takes several
baseline before --backend emulated                   2  \`pinbench check --baseline before --update\` replaces
baseline file --backend emulated                     2  cannot write file: there is a file of that name
baseline file/main --backend emulated                2  cannot write file/main: a part of its path
baseline /proc/main --backend emulated               2  cannot write /proc/main: 
`;

const documents = `
import nvbandwidth none.json                         2  there is no such file
import nvbandwidth before                            2  it is a folder
import nvbandwidth bad.json                          2  is not JSON
import nvbandwidth nvbandwidth.json --buffer-size 512M  2  1024s or 1000s
import nvbandwidth nvbandwidth.json --output new.csv  2  an import writes JSON
import nvbandwidth nvbandwidth.json --output no/a.json  2  does not exist
import nvbandwidth bad.json --output ./bad.json      2  ./bad.json is an input, which the output would overwrite
import nvbandwidth                                   2  the argument 
show newer.json --output new.html                                    2  has schemaVersion 2, and this pinbench reads version 1
show list.json --output new.html                                     2  is JSON, but not a document of pinbench
show nvbandwidth.json --output new.html                              2  pinbench import nvbandwidth
show faulty-tuning.json --output new.html                            2  is not a valid tuning of pinbench at tried: 
show nosuch.json --output new.html                                   2  there is no such file
show runs.json --output new.html                                     2  Give the folder
show nodes.json --output new.html                                    2  pinbench fleet
show own.html --output own.html                     2  own.html is an input, which the output would overwrite
show good.json --chart h2d-by-size                     2  --chart has no effect without an .svg file
show good.json --json --output a.json                2  --output and --json exclude each other
show good.json good.json --output a.md               2  a.md has the extension .md, which names no format. Use one of .html, .svg
show good.json --output a.svg --chart nosuch       2  have no chart "nosuch". Choose from 
show good.json good.json --output a.svg --chart by-memory          2  several of the documents have a chart
show nosuch.json                                     2  there is no such file
show good.json --format nhc                          2  has no format nhc. Use one of table, json, markdown, html, csv
fleet nosuch                                         2  cannot read nosuch: there is no such file.
fleet empty                                          2  there is no result of a node in empty.
fleet results --output results/fleet.json            2  lies in the input results, which the output would overwrite
fleet results --output fleet.pdf                     2  names no format
fleet results --since 2027-01-01                     2  there is no result of a node from 2027-01-01 00:00 UTC on in results
fleet fleet.json --threshold 3%                      2  --threshold cannot change fleet.json: its nodes have already been
fleet fleet.json --since 2026-01-01                  2  --since cannot change fleet.json: its nodes have already been
fleet                                                2  the argument "path" is missing
fleet run --nodes n1 --output new --config search.json --backend emulated  2  fleet run takes several
`;

const machines = `
explain why-pined                                    2  Did you mean why-pinned?
explain why-pinned --all                             2  --all already asks all questions
explain --output a.md                                2  There is nothing to write to a.md: no question was asked.
doctor --output a.svg                                2  there is no chart to draw here
doctor --backend emulated --device 7                 3  There is no device 7
doctor --label rack                                  2  is not a label
doctor --reference no-reference.json                 2  is not a reference of machines at listed
doctor --reference half-reference.json               2  is not a reference of machines at listed.0
doctor --reference bad.json                          2  bad.json
pin --backend emulated --sizes 900TiB                2  above the limit of
pin --backend emulated --sizes 1MiB                  2  is too small for a pool
pin --backend emulated --sizes 8MiB --max-pinned 4MiB  2  --max-pinned
pin --backend emulated --budget 0s                   2  is not a time above 0
pin --backend emulated --budget 60                   2  "60" is not a duration.
pin --backend emulated --device all                  2  "all" is not one device, and this command measures one at a time.
pin --backend emulated --numa all                    2  pinbench run --numa all
`;

const data = "--sample 4KiB --batch-size 4";
const tune = `
tune                                       2  Give --torch FILE:NAME, --data FOLDER or --sample BYTES
tune --sample 4KiB                         2  The batch size is not known. Give --batch-size.
tune ${data} --step a.py:f                 2  --step has no effect without --torch.
tune ${data} --cold                        2  --cold needs the files to drop from the page cache.
tune ${data} --json --format env           2  --json and --format env contradict each other.
tune ${data} --output none/a.json          2  cannot write none/a.json: its folder does not exist.
tune ${data} --backend emulated --device 7  3  There is no device 7. pinbench devices lists them.
tune --torch a.py:f --sample 4KiB          2  --sample has no effect with --torch.
tune --torch a.py:f --data a               2  --data has no effect with --torch, unless --cold is given.
tune --torch a.py:f --cold                 2  --cold needs the files to drop from the page cache. Give the folder
tune --torch a.py:f --device 1             2  --device has no effect with --torch.
tune --torch a.py:f --wait 1s              2  --wait has no effect with --torch.
tune --torch a.py:f --go                   2  --go has no effect without a command.
tune --torch a.py:f --loader 1             2  --loader has no effect without a command.
tune --torch none.py:f --batch-size 4      2  There is no file 
tune --torch train.py:f --batch-size 4 --python /nowhere/python3  2  There is no /nowhere/python3.
tune --batch-size 0                        2  "0" is not a batch size: it must be a whole number from 1 to 1000000.
tune --max-workers -1                      2  "-1" is not a number of workers: it must be a whole number from 0 to 1024.
tune --max-workers 1025                    2  "1025" is not a number of workers
tune --sample 4K                           2  "4K" does not say whether K counts in 1024s or 1000s.
tune --sample 4KiB,1ms,2ms                 2  "4KiB,1ms,2ms" has more than the bytes and the time of a sample.
tune --step train.py                       2  "train.py" is not a training step. Write a duration such as 70ms, auto,
tune --device 0,1                          2  "0,1" is not one device, and this command measures one at a time.
tune --budget 0s                           2  "0s" is not a time above 0.
tune --budget 60                           2  "60" is not a duration.
tune --format yaml                         2  Choose from table, json, markdown, html, python, env
tune --data nowhere --batch-size 4         2  There is no 
tune images                                2  Write the training command after --: pinbench tune -- images.
tune -- train.py                           2  Start it with Python: pinbench tune -- python3 train.py.
tune -- no-such-command                    2  There is no command no-such-command.
tune -- ./train.sh                         2  train.sh is not executable. Make it executable
tune --batch-size 4 -- true                2  --batch-size has no effect with a command.
tune --wait -- true                        2  --wait has no effect with a command.
`;

describe("pinbench refuses a wrong call in one sentence, and changes no file:", () => {
  it.each(
    Object.values({ commands, run, cells, compare, baseline, documents, machines, tune }).flatMap(rowsOf),
  )("%s", (call, code, sentence) => expectRefusal(call, code, sentence, world()));

  const checks = `
check --baseline main --threshold d2h=5%         2  "d2h" is not a memory kind.
check --baseline main --backend emulated         2  there is no flag "--backend". See pinbench check --help.
check --baseline main --output main/run.json     2  main/run.json lies in the input main, which the output would
check --baseline main --output a.csv             2  a.csv has the extension .csv
check --baseline main --history file             2  cannot write file
check --baseline main --history main/history     2  lies in the input main, which the output would overwrite
check --baseline main --history linked-history  2  linked-history/history.jsonl: it is a symbolic link
check --baseline linked-list --update            2  linked-list/baseline.json: it is a symbolic link
`;
  let withMain: Promise<string> | undefined;
  async function checked(): Promise<string> {
    const cwd = makeWorld();
    cpSync(await baselineAt(certainly.slower), join(cwd, "main"), { recursive: true });
    return cwd;
  }

  it.each(rowsOf(checks))("%s", async (call, code, sentence) => {
    withMain ??= checked();
    await expectRefusal(call, code, sentence, await withMain);
  });

  it.each<[string, Record<string, string>, string, string]>([
    ["small --memory pinned", { PINBENCH_EMULATED_MEMORY: "1MiB" }, "2", "above 90 % of its 1 MiB"],
    ["small --backend cuda", { CUDA_VISIBLE_DEVICES: "" }, "3", "The CUDA backend is not available: "],
    ["small", { PINBENCH_EMULATED_DEVICES: "0" }, "3", "no CUDA-capable device is detected"],
    ["small", { PINBENCH_EMULATED_MEMORY: "much" }, "3", "CUDA_ERROR_INVALID_VALUE"],
    [
      "small",
      { PINBENCH_EMULATED_FAULTS: "cuMemAlloc:2" },
      "3",
      "there is no function or direction 'cuMemAlloc'",
    ],
    ["small --backend auto", { PINBENCH_CUDA_LIBRARY: "none.so" }, "3", "there is no driver library none.so"],
    [
      "small --backend cuda",
      { PINBENCH_CUDA_LIBRARY: "./file" },
      "3",
      "The driver cannot be used: cannot load",
    ],
    ["small --backend cuda", { PINBENCH_CUDA_LIBRARY: process.execPath }, "3", "The driver cannot be used: "],
  ])("%s with the environment %j", (call, env, code, sentence) =>
    expectRefusal(call, code, sentence, world(), env),
  );

  it.each([
    ["small --sizes 0", {}, "2", '"0" is no size to copy'],
    ["tune --go --deadline 9s -- true", {}, "2", "--go and --deadline contradict each other."],
    ["worker", {}, "2", "Only another pinbench process starts a worker process."],
    ["small --numa 999", {}, "2", "This machine has no NUMA node 999."],
    ["devices", { PINBENCH_ADDON: "none.node" }, "3", "none.node does not load: there is no such file"],
    ["devices", { PINBENCH_ADDON: "bad.json" }, "3", "bad.json does not load: it is not an ELF file"],
  ])("%s as a process of its own, with %j", async (call, variables, code, sentence) => {
    const paths = Object.entries(variables).map(([name, value]) => [name, join(world(), value)]);
    const finished = await runCli(argsOf(call), { cwd: world(), env: Object.fromEntries(paths) });
    expect(finished.stderr).toContain(sentence);
    expectSentence(finished, Number(code), /./);
  });
});
