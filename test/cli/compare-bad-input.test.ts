import { mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectSentence, filesIn, writeRuns } from "../helpers/baseline-folder.js";
import { callCli } from "../helpers/in-process.js";
import { buildCell, buildDocument } from "../helpers/result-document.js";
import { runCli, temporaryFolder } from "../helpers/run-cli.js";
import { buildRuns } from "../helpers/runs.js";

const [good] = buildRuns({ count: 1 });
const goodText = JSON.stringify(good);
const [samples, durations] = [/"samples":\[\{.*?\}\]/, /"durationNs":\[[^,]*/];
const replaced = (what: RegExp, by: string) => {
  const text = goodText.replace(what, by);
  expect(text).not.toBe(goodText);
  return text;
};
const twice = buildDocument({ cells: [buildCell({ GBps: 50 }), buildCell({ GBps: 51 })] });

describe("a file that is no result", () => {
  it.each([
    ["is empty", "", /bad\.json is empty\. Give a file that `pinbench run --output FILE\.json` wrote\./],
    ["is cut off", goodText.slice(0, 700), /bad\.json is not JSON \(.*\)\./],
    ["is no JSON", "GB/s\n55\n", /bad\.json is not JSON \(.*\)\./],
    [
      "is other JSON",
      '{"name": "pinbench"}',
      /bad\.json is JSON, but not a pinbench result: it has no schemaVersion\./,
    ],
    [
      "is of another version",
      replaced(/"schemaVersion":1/, '"schemaVersion":7'),
      /bad\.json has schemaVersion 7, and this pinbench reads version 1\./,
    ],
    [
      "is a comparison",
      '{"schemaVersion": 1, "kind": "comparison"}',
      /bad\.json is a comparison of results, not a result of a run\. Give a file that `pinbench run/,
    ],
    [
      "is a tuning",
      '{"schemaVersion": 1, "kind": "tuning"}',
      /bad\.json is a result of `pinbench tune`, not a result of a run\./,
    ],
    [
      "is the JSON of a history",
      '{"schemaVersion": 1, "kind": "history"}',
      /bad\.json is the course of a history, not a result of a run\./,
    ],
    [
      "has a sample that is not a number",
      replaced(durations, '"durationNs":[NaN'),
      /bad\.json is not JSON \(.*\)\./,
    ],
    [
      "has a sample that is null",
      replaced(durations, '"durationNs":[null'),
      /at cells\[0\]\.samples\[0\]\.durationNs\[0\]/,
    ],
    [
      "has an endless sample",
      replaced(durations, '"durationNs":[1e999'),
      /at cells\[0\]\.samples\[0\]\.durationNs\[0\]/,
    ],
    [
      "has a negative sample",
      replaced(durations, '"durationNs":[-5'),
      /at cells\[0\]\.samples\[0\]\.durationNs\[0\]/,
    ],
    [
      "has a negative figure",
      replaced(/"median":[\d.]+/, '"median":-3'),
      /h2d figures that are not above 0 in the cell d0/,
    ],
    [
      "has no samples",
      replaced(samples, '"samples":[]'),
      /bad\.json has no samples of the cell d0\/h2d\/pinned\//,
    ],
    ["has no list of samples", replaced(samples, '"samples":null'), /at cells\[0\]\.samples: /],
    [
      "has a cell twice",
      JSON.stringify(twice),
      /bad\.json has the cell d0\/h2d\/pinned\/16777216\/w1\S+ twice\./,
    ],
  ])("%s", async (_, text, sentence) => {
    const cwd = temporaryFolder();
    writeRuns(cwd, [good!]);
    writeFileSync(join(cwd, "bad.json"), text);
    expectSentence(await callCli(["compare", "a.json", "bad.json"], { cwd }), 2, sentence);
    expectSentence(await callCli(["compare", "bad.json", "a.json"], { cwd }), 2, sentence);
    expect(readFileSync(join(cwd, "bad.json"), "utf8")).toBe(text);
  });

  it("has 200 MB", async () => {
    const cwd = temporaryFolder();
    writeRuns(cwd, [good!, ""]);
    truncateSync(join(cwd, "b.json"), 200e6);
    const sentence = /cannot read b\.json: it has 190\.8 MiB, and 128 MiB is the most that is read\./;
    expectSentence(await callCli(["compare", "a.json", "b.json"], { cwd }), 2, sentence);
  });

  it("is a folder without results, with a bad one, or with one twice", async () => {
    const cwd = temporaryFolder();
    writeRuns(cwd, [good!]);
    mkdirSync(join(cwd, "b.json"));
    const args = ["compare", "a.json", "b.json"];
    expectSentence(await callCli(args, { cwd }), 2, /b\.json is a folder without a result in it\./);
    writeRuns(join(cwd, "b.json"), [good!, "{"]);
    expectSentence(await callCli(args, { cwd }), 2, /b\.json\/b\.json is not JSON/);
    mkdirSync(join(cwd, "c"));
    writeRuns(join(cwd, "c"), [good!, good!]);
    expectSentence(
      await callCli(["compare", "a.json", "c"], { cwd }),
      2,
      /c\/b\.json is the same run as c\/a\.json\. Remove one of them/,
    );
  });

  it("is not there", async () => {
    const cwd = temporaryFolder();
    writeRuns(cwd, [good!]);
    const args = ["compare", "a.json", "none.json"];
    const sentence = /cannot read none\.json: there is no such file\./;
    expectSentence(await callCli(args, { cwd }), 2, sentence);
    expectSentence(await runCli(args, { cwd }), 2, sentence);
  });

  it.each(["check", "check --update --accept"])(
    "is refused by %s before anything is measured",
    async (command) => {
      const baseline = join(temporaryFolder(), "baseline");
      mkdirSync(baseline);
      writeRuns(baseline, [good!, '{"schemaVersion": 7}']);
      const before = filesIn(baseline);
      const finished = await callCli([...command.split(" "), "--baseline", baseline]);
      expectSentence(finished, 2, /b\.json has schemaVersion 7/);
      expect(filesIn(baseline)).toEqual(before);
    },
  );
});

describe("a flag that makes no sense", () => {
  it.each([
    [["--threshold", "0%"], /"0%" is not a threshold, a share above 0 % and below 100 %/],
    [
      ["--threshold", "pagable=5%"],
      /"pagable" is no memory kind, no direction and no pattern of cells\. Did you mean pageable=5%\?/,
    ],
    [
      ["--threshold", "d0/h2d/pined/*=5%"],
      /No cell of either result matches "d0\/h2d\/pined\/\*", which has a threshold\. Did you mean "d0\/h2d\/pinned\/\*"\? The nearest: d0\/h2d\/pinned\/16777216\//,
    ],
    [["--significance", "0.9"], /"0\.9" is not a significance/],
    [["--significance", "3"], /"3" is not a significance: .* Did you mean 3%\?/],
    [["--significance", "%"], /"%" is not a significance/],
    [["--format", "csv"], /Choose from table, json, markdown, html, junit, github, bmf, benchmark-action/],
    [["--json", "--format", "junit"], /--json and --format junit contradict each other/],
    [["--output", "a.csv"], /a\.csv has the extension \.csv, which names no format/],
    [["--output", "none/a.xml"], /cannot write none\/a\.xml: its folder does not exist/],
    [["c.json"], /too many arguments/],
  ])("%j", async (args, sentence) => {
    const cwd = temporaryFolder();
    writeRuns(cwd, [good!, good!]);
    expectSentence(await callCli(["compare", "a.json", "b.json", ...args], { cwd }), 2, sentence);
  });
});
