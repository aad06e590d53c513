import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { expectSentence } from "../helpers/baseline-folder.js";
import { buildComparison } from "../helpers/comparison.js";
import { buildCourse, buildEntry, buildFigure, historyFolder } from "../helpers/history.js";
import { callCli } from "../helpers/in-process.js";
import { runCli, small, temporaryFolder } from "../helpers/run-cli.js";
import { buildTuning } from "../helpers/tuning.js";

const recorded = fileURLToPath(new URL("../../results/nvidia-h200/default.json", import.meta.url));
const quick = fileURLToPath(new URL("../../results/nvidia-h200/quick.json", import.meta.url));

function jsonFile(document: unknown, name = "document.json"): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, JSON.stringify(document));
  return path;
}

const history = () =>
  historyFolder(
    buildCourse({ checks: 12 }).map((factor, day) =>
      buildEntry(day, { series: [buildFigure({ figure: 55.4 * factor })] }),
    ),
  );

/** `pinbench report` in an empty folder. */
async function report(...args: string[]) {
  const cwd = temporaryFolder();
  const finished = await callCli(["report", ...args], { cwd });
  return { ...finished, cwd, read: (name: string) => readFileSync(join(cwd, name), "utf8") };
}

const chaptersIn = (html: string) => html.match(/<section[^>]* class="chapter/g)?.length ?? 0;

describe("pinbench report", () => {
  it("writes report.html, a page by itself, and names it on stdout", async () => {
    const { exitCode, stdout, stderr, read } = await report(recorded);
    expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: "report.html\n", stderr: "" });
    const html = read("report.html");
    expect(html).toMatch(/^<!doctype html>/);
    expect(html).toContain("NVIDIA H200");
    expect(html).toContain("<svg");
    for (const [picture] of html.matchAll(/<svg.*?<\/svg>/gs)) {
      expect(picture).not.toMatch(/NaN|undefined|Infinity/);
    }
  });

  it("takes documents of all kinds at once, and folders of runs and of histories", async () => {
    const runs = join(temporaryFolder(), "runs");
    mkdirSync(runs);
    copyFileSync(quick, join(runs, "a.json"));
    const tuning = jsonFile(buildTuning());
    const comparison = jsonFile(buildComparison());
    const { exitCode, stderr, read } = await report(recorded, runs, comparison, tuning, history());
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(chaptersIn(read("report.html"))).toBe(5);
  });

  it("shows the runs of a folder that measured the same as those of several processes", async () => {
    const runs = join(temporaryFolder(), "runs");
    mkdirSync(runs);
    const document = JSON.parse(readFileSync(quick, "utf8"));
    for (const id of ["a", "b", "c"]) {
      writeFileSync(join(runs, `${id}.json`), JSON.stringify({ ...document, run: { ...document.run, id } }));
    }
    const { read } = await report(runs);
    expect(chaptersIn(read("report.html"))).toBe(1);
    expect(read("report.html")).toContain("3 processes");
    const other = { ...document, run: { ...document.run, id: "d" }, cells: document.cells.slice(1) };
    writeFileSync(join(runs, "d.json"), JSON.stringify(other));
    expect(chaptersIn((await report(runs)).read("report.html"))).toBe(4);
  });

  it("spoils nothing that it reads, nor a report.html of somebody else's", async () => {
    const own = join(temporaryFolder(), "own.html");
    copyFileSync(quick, own);
    expectSentence(await report(own, "--output", own), 2, /is an input, which the output would overwrite/);
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "report.html"), "<h1>coverage</h1>");
    const refused = await callCli(["report", quick], { cwd });
    expectSentence(refused, 2, /report\.html already exists, and pinbench did not write it/);
    expect(readFileSync(join(cwd, "report.html"), "utf8")).toBe("<h1>coverage</h1>");
    const asked = await callCli(["report", quick, "--output", "report.html"], { cwd });
    expect(asked.exitCode).toBe(0);
    const again = await callCli(["report", quick], { cwd });
    expect(again.exitCode).toBe(0);
  });
});

describe("a report.html that is a link", () => {
  it("is not followed unless it is asked for: in a shared folder it may be another user's", async () => {
    const cwd = temporaryFolder();
    const target = join(temporaryFolder(), "target.html");
    symlinkSync(target, join(cwd, "report.html"));
    expectSentence(await callCli(["report", quick], { cwd }), 2, /report\.html is a symbolic link/);
    expect(existsSync(target)).toBe(false);
    expect((await callCli(["report", quick, "--output", "report.html"], { cwd })).exitCode).toBe(0);
    expect(existsSync(target)).toBe(true);
  });
});

describe("--open", () => {
  it("has the desktop open the page, and does not wait for it", async () => {
    const cwd = temporaryFolder();
    const opened = join(cwd, "opened");
    const opener = join(cwd, "xdg-open");
    writeFileSync(opener, `#!/bin/sh\nprintf '%s' "$1" > "${opened}.new"; mv "${opened}.new" "${opened}"\n`);
    chmodSync(opener, 0o755);
    const env = { PATH: `${cwd}:${process.env.PATH}` };
    const { exitCode, stdout, stderr } = await runCli(["report", quick, "--open"], { cwd, env });
    expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: "report.html\n", stderr: "" });
    await expect.poll(() => existsSync(opened), { timeout: 20_000 }).toBe(true);
    expect(readFileSync(opened, "utf8")).toBe(join(cwd, "report.html"));
  });
});

describe("--output with .html and .svg", () => {
  it("writes a page of a run, beside other files", async () => {
    const cwd = temporaryFolder();
    const args = ["--output", "page.html", "--output", "result.json", "--output", "a.svg"];
    const finished = await callCli([...small(...args), "--chart", "samples-over-time", "--quiet"], { cwd });
    expect(finished).toMatchObject({ exitCode: 0, stderr: "" });
    expect(readFileSync(join(cwd, "page.html"), "utf8")).toContain("emulated");
    expect(readFileSync(join(cwd, "a.svg"), "utf8")).toMatch(/^<svg/);
    expect(existsSync(join(cwd, "result.json"))).toBe(true);
  });

  it("writes a page of a tuning, beside its other forms", async () => {
    const cwd = temporaryFolder();
    const model = ["--sample", "64KiB", "--batch-size", "8", "--backend", "emulated"];
    const files = ["t.html", "t.json", "t.env", "t.py", "t.svg"].flatMap((name) => ["--output", name]);
    const bounds = ["--max-workers", "1", "--budget", "2s", "--quiet"];
    const tuned = await callCli(["tune", ...model, ...bounds, ...files, "--chart", "rate-by-workers"], {
      cwd,
    });
    expect(tuned).toMatchObject({ exitCode: 0, stderr: "" });
    const read = (name: string) => readFileSync(join(cwd, name), "utf8");
    expect(read("t.html")).toContain("Tuning of ");
    expect(read("t.svg")).toMatch(/^<svg/);
    expect(JSON.parse(read("t.json"))).toMatchObject({ kind: "tuning" });
    expect(read("t.env")).toMatch(/^PINBENCH_NUM_WORKERS=\d/);
    expect(read("t.py")).toContain("num_workers=");
  });
});
