import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { expectSentence } from "../helpers/baseline-folder.js";
import { buildComparison, buildGroup, idOf } from "../helpers/comparison.js";
import { buildEntry, buildFigure, buildTrend, historyFolder } from "../helpers/history.js";
import { callCli } from "../helpers/in-process.js";
import { small, temporaryFolder } from "../helpers/run-cli.js";
import { documentNames, documents } from "../helpers/sample-documents.js";

const recorded = fileURLToPath(new URL("../../results/nvidia-h200/quick.json", import.meta.url));

function fileOf(kind: (typeof documentNames)[number], document: unknown = documents[kind]("node-1")): string {
  const path = join(temporaryFolder(), `${kind}.json`);
  writeFileSync(path, JSON.stringify(document));
  return path;
}

it.each(documentNames)("pinbench show prints a saved %s as a table, or as is with --json", async (kind) => {
  const file = fileOf(kind);
  const table = await callCli(["show", file]);
  expect(table).toMatchObject({ exitCode: 0, stderr: "" });
  expect(table.stdout).toMatch(/^pinbench \S/);
  const { stdout } = await callCli(["show", file, "--json"]);
  expect(JSON.parse(stdout)).toEqual(JSON.parse(readFileSync(file, "utf8")));
});

it("pinbench show prints several files one after the other, also in a format of their kind", async () => {
  const { exitCode, stdout } = await callCli(["show", recorded, fileOf("pinning"), "--format", "markdown"]);
  expect(exitCode).toBe(0);
  expect(stdout.match(/^## pinbench[ a-z]*:/gm)).toEqual(["## pinbench:", "## pinbench pin:"]);
  expect((await callCli(["show", fileOf("tuning"), "--format", "env"])).stdout).toMatch(/^\w+=/);
});

it("pinbench show lists all cells of a comparison only with --all", async () => {
  const file = fileOf("comparison", buildComparison({ groups: [buildGroup({ ids: [idOf("pinned")] })] }));
  const shown = async (...flags: string[]) => (await callCli(["show", file, ...flags])).stdout;
  expect(await shown()).not.toContain("H2D pinned 16 MiB");
  expect(await shown("--all")).toContain("H2D pinned 16 MiB");
});

it("pinbench show refuses a format that a document lacks, and names those that it has", async () => {
  const finished = await callCli(["show", fileOf("diagnosis"), "--format", "csv"]);
  expectSentence(
    finished,
    2,
    /has no format csv\. Use one of table, json, markdown, html, nhc, nagios, openmetrics\./,
  );
});

it("pinbench show refuses a file that does not exist", async () => {
  expectSentence(await callCli(["show", "nosuch.json"]), 2, /there is no such file/);
});

/** `pinbench show` in an empty folder. */
async function show(...args: string[]) {
  const cwd = temporaryFolder();
  const finished = await callCli(["show", ...args], { cwd });
  return { ...finished, read: (name: string) => readFileSync(join(cwd, name), "utf8") };
}

const chaptersIn = (html: string) => html.match(/<section[^>]* class="chapter/g)?.length ?? 0;

describe("pinbench show --output", () => {
  it("writes results, folders of runs and a history as one page, and prints its name", async () => {
    const runs = join(temporaryFolder(), "runs");
    mkdirSync(runs);
    copyFileSync(recorded, join(runs, "a.json"));
    const history = historyFolder(
      buildTrend({ checks: 12 }).map((factor, day) =>
        buildEntry(day, { series: [buildFigure({ figure: 55.4 * factor })] }),
      ),
    );
    const paths = [recorded, runs, fileOf("comparison"), fileOf("tuning"), history];
    const { exitCode, stdout, stderr, read } = await show(...paths, "--output", "all.html");
    expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: "all.html\n", stderr: "" });
    const html = read("all.html");
    expect(html).toMatch(/^<!doctype html>/);
    expect(chaptersIn(html)).toBe(5);
    for (const [picture] of html.matchAll(/<svg.*?<\/svg>/gs)) {
      expect(picture).not.toMatch(/NaN|undefined|Infinity/);
    }
  });

  it("shows a folder's runs with equal settings as one result of several processes", async () => {
    const runs = join(temporaryFolder(), "runs");
    mkdirSync(runs);
    const document = JSON.parse(readFileSync(recorded, "utf8"));
    for (const id of ["a", "b", "c"]) {
      writeFileSync(join(runs, `${id}.json`), JSON.stringify({ ...document, run: { ...document.run, id } }));
    }
    const html = (await show(runs, "-o", "page.html")).read("page.html");
    expect(chaptersIn(html)).toBe(1);
    expect(html).toContain("3 processes");
    const other = { ...document, run: { ...document.run, id: "d" }, cells: document.cells.slice(1) };
    writeFileSync(join(runs, "d.json"), JSON.stringify(other));
    expect(chaptersIn((await show(runs, "-o", "page.html")).read("page.html"))).toBe(4);
  });

  it("writes one document in any of its formats, and its first chart or the one that --chart names", async () => {
    const names = ["a.svg", "a.csv", "a.json", "a.md", "a.txt"];
    const { exitCode, stdout, read } = await show(recorded, ...names.flatMap((name) => ["-o", name]));
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: names.map((name) => `${name}\n`).join("") });
    expect(read("a.csv")).toMatch(/^id,/);
    const sweep = recorded.replace("quick", "default");
    const named = await show(sweep, "-o", "b.svg", "--chart", "d2h-by-size");
    expect(named.read("b.svg")).toMatch(/^<svg/);
    expect(named.read("b.svg")).not.toBe(read("a.svg"));
  });
});

describe("--output with .html and .svg", () => {
  it("saves a run as a page, a chart and JSON", async () => {
    const cwd = temporaryFolder();
    const args = ["--output", "page.html", "--output", "result.json", "--output", "a.svg"];
    const finished = await callCli([...small(...args), "--quiet"], { cwd });
    expect(finished).toMatchObject({ exitCode: 0, stderr: "" });
    const read = (name: string) => readFileSync(join(cwd, name), "utf8");
    expect(read("page.html")).toContain("emulated");
    expect(read("a.svg")).toMatch(/^<svg/);
    expect(JSON.parse(read("result.json"))).toMatchObject({ backend: "emulated" });
  });

  it("saves a tuning as a page, a chart, JSON and files of its settings", async () => {
    const cwd = temporaryFolder();
    const model = ["--sample", "64KiB", "--batch-size", "8", "--backend", "emulated"];
    const files = ["t.html", "t.json", "t.env", "t.py", "t.svg"].flatMap((name) => ["--output", name]);
    const bounds = ["--max-workers", "1", "--budget", "2s", "--quiet"];
    const tuned = await callCli(["tune", ...model, ...bounds, ...files], { cwd });
    expect(tuned).toMatchObject({ exitCode: 0, stderr: "" });
    const read = (name: string) => readFileSync(join(cwd, name), "utf8");
    expect(read("t.html")).toContain("Tuning of ");
    expect(read("t.svg")).toMatch(/^<svg/);
    expect(JSON.parse(read("t.json"))).toMatchObject({ kind: "tuning" });
    expect(read("t.env")).toMatch(/^PINBENCH_NUM_WORKERS=\d/);
    expect(read("t.py")).toContain("num_workers=");
  });
});

it("pinbench devices writes its list to files", async () => {
  const cwd = temporaryFolder();
  const listed = await callCli(
    ["devices", "--backend", "emulated", "--json", "-o", "d.json", "-o", "d.txt"],
    { cwd },
  );
  expect(listed.exitCode).toBe(0);
  expect(readFileSync(join(cwd, "d.json"), "utf8")).toBe(listed.stdout);
  expect(readFileSync(join(cwd, "d.txt"), "utf8")).toContain("emulated");
});
