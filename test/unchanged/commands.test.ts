import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, it, vi } from "vitest";
import { packageVersion } from "../../src/package-facts.js";
import { historyPath } from "../../src/results/files/history-file.js";
import { buildCourse, buildEntry, buildFigure } from "../helpers/history.js";
import { callCli } from "../helpers/in-process.js";
import { nodeResult } from "../helpers/node-results.js";
import { buildCell, buildDocument, buildLink, buildMismatch } from "../helpers/result-document.js";
import { buildRuns } from "../helpers/runs.js";
import { documentNames, documents } from "../helpers/sample-documents.js";
import { expectUnchanged } from "../helpers/unchanged.js";

/*
 * Command lines that measure nothing, from commands-of-files.txt and commands-without-files.txt: exit codes, what they
 * print, and the files that they leave changed.
 */

const cells = [
  ...[
    { GBps: 50 },
    { GBps: 10, memory: "pageable", sizeBytes: 65536 },
    { GBps: 20, direction: "d2h", device: 1 },
  ],
  { GBps: 2, mode: "latency", sizeBytes: 4096, latencyUs: { median: 2, p99: 5 } },
] as const;
const runs = (name: string, part: object) =>
  buildRuns({ cells, ...part }).map((run, i): [string, unknown] => [`${name}/${i}.json`, run]);
const [one, slow] = [buildRuns({ cells }), buildRuns({ cells, speed: 0.5, seed: 4 })];
const course = buildCourse({ checks: 30, steps: { 20: -0.1 } });
const checks = course.map((factor, day) =>
  buildEntry(day, { series: [buildFigure({ figure: 55 * factor })] }),
);
const config = {
  thresholds: { default: "70%", memory: { pageable: "2%" }, cells: { "odd/*": 0.5 } },
  strict: true,
};

const files: readonly (readonly [string, unknown])[] = [
  ...[...runs("before", {}), ...runs("after", { speed: 0.8, seed: 2 }), ...runs("same", { seed: 3 })],
  ...runs("other", { document: { fingerprint: { gpu: "NVIDIA L4" } } }),
  ...runs("emulated", { document: { backend: "emulated" } }),
  ...documentNames.map((kind) => [`${kind}.json`, documents[kind]("node-1")] as const),
  ...[["a.json", one[0]!] as const, ["b.json", slow[1]!] as const, ["folder.json/a.txt", "text"] as const],
  ...["n1", "n2", "n3", "n4", "n5"].map(
    (host) =>
      [
        `nodes/${host}.json`,
        nodeResult(host, {
          device: () => ({ link: buildLink() }),
          speed: (gpu) => (host === "n3" && gpu === 1 ? 0.8 : 1),
        }),
      ] as const,
  ),
  ...[["nodes/n6.json", "{"] as const, ["train.py", ""] as const],
  [historyPath("history"), [...checks, "not JSON"].map((line) => `${JSON.stringify(line)}\n`).join("")],
  ["own/report.html", '<meta name="generator" content="pinbench 0">'],
  ["failed.json", buildDocument({ cells: [buildCell({ GBps: 50 }), buildMismatch({ sizeBytes: 4096 })] })],
  ["nv.json", readFileSync(new URL("../fixtures/nvbandwidth-0.8.json", import.meta.url), "utf8")],
  ...[["empty.json", ""] as const, ["broken.json", '{"a":'] as const, ["list.json", []] as const],
  ...[["foreign/report.html", "<p>mine</p>"] as const, ["foreign/a.json", one[0]!] as const],
  ["configured/pinbench.config.json", { ...config, baseline: "../before" }],
  [
    "other.config.json",
    { plan: { sizes: "1MiB" }, thresholds: { direction: { h2d: "60%" } }, significance: "20%" },
  ],
  ["wrong.config.json", { plan: { sizes: "1M" } }],
];

const folder = realpathSync(mkdtempSync(join(tmpdir(), "pinbench-unchanged-")));
const measured = new Date("2026-03-04T05:06:07Z");

/** All files, by their paths. */
function contents(): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const paths = names.map((entry) => join(entry.parentPath, entry.name)).sort();
  return new Map(paths.map((path) => [path, readFileSync(path, "latin1")]));
}

function begin(): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "linked"), { recursive: true });
  symlinkSync("../a.json", join(folder, "linked/report.html"));
  for (const [name, content] of files) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    utimesSync(path, measured, measured);
  }
}

/** Without what differs from call to call, and between versions. */
const plain = (text: string) =>
  text
    .replaceAll(folder, "FOLDER")
    .replaceAll(packageVersion(), "VERSION")
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, "UUID");

async function outputOf(line: string) {
  const words = line.split(" ");
  const isBefore = (word: string) => /^(in\/|[A-Z_]+=)/.test(word);
  const place = words.find((word) => word.startsWith("in/"))?.slice(3) ?? "";
  const env = words.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split("="));
  const args = words.slice(words.findIndex((word) => !isBefore(word)));
  const { exitCode, stdout, stderr } = await callCli(args, {
    cwd: join(folder, place),
    env: Object.fromEntries(env),
  });
  return { exitCode, stdout: plain(stdout), stderr: plain(stderr) };
}

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-11-27T12:00:00Z"), toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

it.each(["commands-of-files", "commands-without-files"])("%s", async (name) => {
  begin();
  const before = contents();
  const lines = readFileSync(new URL(`./${name}.txt`, import.meta.url), "utf8")
    .split("\n")
    .slice(1, -1);
  const outputs: [string, unknown][] = [];
  for (const line of lines) {
    const output = await outputOf(line);
    const now = contents();
    const changed = [...now].filter(([path, text]) => before.get(path) !== text);
    const isWhole = [...before.keys()].every((path) => now.has(path));
    outputs.push([line, { ...output, files: changed.map((one) => one.map(plain)), isWhole }]);
    if (changed.length > 0 || !isWhole) begin();
  }
  rmSync(folder, { recursive: true });
  await expectUnchanged(name.replace("commands", "outputs"), outputs);
});
