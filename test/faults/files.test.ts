import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeHistory } from "../../src/compare/history/trends.js";
import { parseHistory } from "../../src/results/files/history-file.js";
import { listRuns } from "../../src/results/files/run-folder.js";
import { importNvbandwidth } from "../../src/results/import-nvbandwidth.js";
import { parseResult } from "../../src/results/parse.js";
import { loadConfiguration } from "../../src/settings/configuration.js";
import { readTextFile } from "../../src/text-file.js";
import { buildEntry } from "../helpers/history.js";
import { acceptedBy, expectNoPollution, expectRefusal, hostileText, runs } from "../helpers/hostile.js";
import { mutated, mutation } from "../helpers/mutations.js";
import { buildDocument } from "../helpers/result-document.js";
import { temporaryFolder } from "../helpers/run-cli.js";
import { countTrials, trials } from "../helpers/trials.js";

const configuration = {
  plan: {
    sizes: "64KiB,1MiB..16MiB*2",
    workers: [1, 2],
    memory: ["pinned", "pageable"],
    direction: "h2d,d2h",
    budget: "8s",
    precision: "1%",
    verify: "last",
    numa: "local",
  },
  baseline: "baseline",
  runs: 5,
  thresholds: {
    default: "5%",
    memory: { pageable: 0.1 },
  },
  strict: false,
};

const nvbandwidth = {
  nvbandwidth: {
    version: "v0.8",
    "CUDA Runtime Version": 13000,
    "Driver Version": "580.159.04",
    "GPU Device list": ["0: NVIDIA H200 (00000000:00:06): (node-1)"],
    testcases: [
      { name: "host_to_device_memcpy_ce", status: "Passed", bandwidth_matrix: [["55.63"]] },
      { name: "device_local_copy", status: "Passed", bandwidth_matrix: [["1900.1"]] },
      { name: "host_to_device_memcpy_sm", status: "Passed", bandwidth_matrix: [["53.9"]] },
      { name: "device_to_host_memcpy_ce", status: "Waived" },
    ],
  },
};

const entries = [0, 1, 2].map((day) => buildEntry(day));

/** Texts of a document that is changed at random, and hostile texts. */
const textOf = (document: unknown) =>
  fc.oneof({ weight: 9, arbitrary: mutation.map((change) => mutated(document, change)) }, hostileText);

const imported = (text: string) =>
  importNvbandwidth(text, {
    path: "nv.json",
    fileName: "nv.json",
    measuredAt: new Date(0),
    bufferSizeBytes: null,
    runId: "run",
    pinbenchVersion: "0.1.0",
  }).document;

function described(text: string) {
  const history = parseHistory(text, "history.jsonl");
  for (const note of history.notes) expect(note).toMatch(/^line \d+ of history\.jsonl/);
  return describeHistory({ version: "0.1.0", path: "history", history, cells: null });
}

describe("a file that a program has changed at random is read, or refused in one sentence:", () => {
  const write = (folder: string, name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  it.each<[string, unknown, (text: string, folder: string) => unknown]>([
    ["nvbandwidth's figures", nvbandwidth, (text) => parseResult(JSON.stringify(imported(text)))],
    ["a history", entries[0], (text) => described(`${JSON.stringify(entries[1])}\n${text}\n`)],
    [
      "a configuration",
      configuration,
      (text, folder) => loadConfiguration({ config: write(folder, "pinbench.config.json", text) }),
    ],
    [
      "a package.json with a configuration",
      { name: "x", pinbench: configuration },
      (text, folder) => loadConfiguration({ config: write(folder, "package.json", text) }),
    ],
    [
      "the list of a baseline's runs",
      { schemaVersion: 1, kind: "baseline", runs: ["run-1.json", "run-2.json"] },
      async (text, folder) => {
        write(folder, "baseline.json", text);
        // No run lies outside the folder.
        for (const path of await listRuns(folder)) expect(join(path, "..")).toBe(folder);
      },
    ],
  ])("%s", async (_, document, read) => {
    const trial = countTrials("files changed at random");
    const folder = temporaryFolder();
    let accepted = 0;
    await read(JSON.stringify(document), folder);
    await fc.assert(
      fc.asyncProperty(textOf(document), async (text) => {
        trial.tries();
        try {
          await read(text, folder);
          ++accepted;
        } catch (error) {
          expectRefusal(error);
        }
        trial.survives();
      }),
      runs(trials(100, 3000)),
    );
    expect(accepted).toBeGreaterThan(0);
    expectNoPollution();
  });
});

describe("a text of 100 kB in a file is read or refused within a second of CPU time:", () => {
  const deep = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const keys = (length: number) => JSON.stringify({ ["plan".repeat(length / 4)]: 1 });
  const long: [string, (length: number) => unknown][] = [
    ["a nested version", (length) => parseResult(`{"schemaVersion":${deep(length)}}`)],
    ["a nested version in a history", (length) => parseHistory(`{"schemaVersion":${deep(length)}}\n`, "h")],
    ["a document of nested lists", (length) => parseResult(deep(length))],
    ["a document of nested objects", (length) => parseResult('{"a":'.repeat(length / 5))],
    [
      "an unknown field of nested lists",
      (length) => parseResult(JSON.stringify(buildDocument()).replace("{", `{"x":${deep(length)},`)),
    ],
    ["a nested matrix", (length) => imported(JSON.stringify(nvbandwidth).replace('"55.63"', deep(length)))],
    [
      "a rate of many digits",
      (length) => imported(JSON.stringify(nvbandwidth).replace("55.63", "5".repeat(length))),
    ],
    [
      "a very long name of a GPU",
      (length) => imported(JSON.stringify(nvbandwidth).replace("NVIDIA H200", ": (".repeat(length / 3))),
    ],
    ["a history of empty lines", (length) => parseHistory("\n".repeat(length), "h")],
    ["a history of lines that are no checks", (length) => parseHistory("{}\n".repeat(length / 3), "h")],
    ["many copies of a check", (length) => described(`${JSON.stringify(entries[0])}\n`.repeat(length / 500))],
  ];

  it.each(long)("%s", (_, read) => {
    const trial = countTrials("texts of 100 kB in a second each");
    trial.tries();
    const began = process.cpuUsage();
    acceptedBy(() => read(100_000));
    expect(process.cpuUsage(began).user / 1e6).toBeLessThan(1);
    trial.survives();
  });

  it("a very long key in a configuration", async () => {
    const trial = countTrials("texts of 100 kB in a second each");
    trial.tries();
    const config = join(temporaryFolder(), "c.json");
    writeFileSync(config, keys(100_000));
    const began = process.cpuUsage();
    const error = await loadConfiguration({ config }).catch((error: unknown) => error);
    expect(process.cpuUsage(began).user / 1e6).toBeLessThan(1);
    expectRefusal(error);
    trial.survives();
  });
});

it("bytes in a file that are not UTF-8 are read as the replacement character", async () => {
  const path = join(temporaryFolder(), "bytes");
  const trial = countTrials("files changed at random");
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 64 }), async (bytes) => {
      trial.tries();
      writeFileSync(path, bytes);
      const text = await readTextFile(path);
      expect(text).toBe(new TextDecoder().decode(bytes));
      trial.survives();
    }),
    runs(trials(50, 1000)),
  );
});

it("a missing path with a hostile name is refused in one sentence", async () => {
  const trial = countTrials("names of files");
  const folder = temporaryFolder();
  mkdirSync(join(folder, "x"));
  await fc.assert(
    fc.asyncProperty(hostileText, async (name) => {
      trial.tries();
      for (const read of [readTextFile, listRuns]) {
        const path = name === "" ? name : join(folder, "x", `${name.replaceAll("/", "_")}!`);
        expectRefusal(await read(path).catch((error: unknown) => error));
      }
      trial.survives();
    }),
    runs(trials(50, 1000)),
  );
});
