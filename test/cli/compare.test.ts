import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { comparisonSchema } from "../../src/compare/comparison.js";
import { sidesCells as cells, sides, writeRuns } from "../helpers/baseline-folder.js";
import { callCli } from "../helpers/in-process.js";
import { buildCell, buildDevice, buildFailed, buildMismatch } from "../helpers/result-document.js";
import { buildRuns } from "../helpers/runs.js";

const compare = (cwd: string, ...args: string[]) => callCli(["compare", "before", "after", ...args], { cwd });
const slower = { speed: 0.9 };
const otherGpu = { devices: [buildDevice({ name: "NVIDIA L4" })] };

describe("the exit code of pinbench compare", () => {
  const missing = { cells: cells.slice(0, 1) };
  const failing = { document: {}, cells };

  it.each([
    [0, "nothing is slower", {}, []],
    [0, "something is faster", { speed: 1.2 }, []],
    [1, "something is slower", slower, []],
    [5, "the GPU differs", { document: otherGpu }, []],
    [1, "another GPU is allowed, but slower", { document: otherGpu, ...slower }, ["--allow-mismatch"]],
    [
      5,
      "the backend differs, even with --allow-mismatch",
      { document: { backend: "emulated" } },
      ["--allow-mismatch"],
    ],
    [0, "a cell is missing", missing, []],
    [6, "a cell is missing, with --strict", missing, ["--strict"]],
    [0, "all cells are decided, with --strict", failing, ["--strict"]],
  ] as const)("is %i if %s", async (code, _, after, args) => {
    const { exitCode, stdout, stderr } = await compare(sides(after), ...args);
    expect({ exitCode, stderr }).toEqual({ exitCode: code, stderr: "" });
    expect(stdout).toMatch(/^pinbench \S+ compare\n/);
  });

  it("is 4 if a measurement failed", async () => {
    const cwd = sides({});
    const [run] = buildRuns({ cells: [cells[0]], count: 1 });
    const failed = buildFailed(cells[1], "CUDA", "out of memory");
    writeRuns(join(cwd, "after"), [{ ...run!, cells: [buildCell(cells[0]), failed] }]);
    const { exitCode, stdout } = await compare(cwd);
    expect(exitCode).toBe(4);
    expect(stdout).toContain(`note: ${failed.id}: it failed: out of memory`);
    expect(stdout).toMatch(/\n=> Measuring failed or did not finish\.\n/);
  });

  it("is 7 if data came back wrong, also in a cell that the baseline lacks", async () => {
    const cwd = sides({});
    const [run] = buildRuns({ cells, count: 1 });
    const mismatch = buildMismatch({ workers: 7, GBps: 50 });
    writeRuns(join(cwd, "after"), [{ ...run!, cells: [...run!.cells, mismatch] }]);
    const { exitCode, stdout } = await compare(cwd);
    expect(exitCode).toBe(7);
    expect(stdout).toContain("=> Data came back wrong: take the machine out of use.");
    expect(stdout).toContain(`note: ${mismatch.id}: the data came back wrong`);
  });

  it("is 5 if there is no baseline, or no cell in common", async () => {
    const cwd = sides({ cells: [{ GBps: 50, workers: 2 }] });
    expect(await callCli(["compare", "none", "after"], { cwd })).toMatchObject({
      exitCode: 5,
      stderr: "pinbench: there is no baseline none. Make one with `pinbench baseline none`.\n",
    });
    const { exitCode, stdout, stderr } = await compare(cwd);
    expect({ exitCode, stdout }).toEqual({ exitCode: 5, stdout: "" });
    expect(stderr).toMatch(/^pinbench: before and after have no measured cell in common \(.*\)\. .*\n$/);
  });
});

describe("the output of pinbench compare", () => {
  it("lists a cell that is not slower only with --all", async () => {
    const cwd = sides({});
    const isShown = /\n {2}H2D pinned 16 MiB .* not slower\n/;
    const { stdout } = await compare(cwd);
    expect(stdout).toMatch(/^pinbench \S+ compare\n\n=> Nothing is slower\. A loss of [\d.]+ % would show/);
    expect(stdout).not.toMatch(isShown);
    expect(stdout).toContain("--all shows all rows and notes");
    expect((await compare(cwd, "--all", "--output", "a.txt")).stdout).toMatch(isShown);
    expect(readFileSync(join(cwd, "a.txt"), "utf8")).toMatch(isShown);
  });

  it("is also written to files, each in the format of its extension", async () => {
    const cwd = sides(slower);
    const names = ["a.json", "a.md", "a.txt", "a.xml"];
    const { exitCode, stdout } = await compare(cwd, ...names.flatMap((name) => ["--output", name]));
    expect(exitCode).toBe(1);
    const [json, markdown, table, junit] = names.map((name) => readFileSync(join(cwd, name), "utf8"));
    expect(comparisonSchema.parse(JSON.parse(json!))).toMatchObject({
      groups: [{ verdict: "slower" }, { verdict: "slower" }],
    });
    expect(markdown).toMatch(/^## pinbench compare: Slower: H2D \w+ −/);
    expect(await callCli(["compare", "before", "after"], { cwd })).toMatchObject({
      exitCode,
      stdout,
      stderr: "",
    });
    // A file has the whole view.
    expect(table).toBe((await compare(cwd, "--all")).stdout);
    expect(junit).toMatch(/^<\?xml .*\n<testsuites [^>]*tests="3" failures="3" errors="0"/);
  });

  it("is also appended to GitHub's step summary with --format github", async () => {
    const cwd = sides(slower);
    const summary = join(cwd, "summary.md");
    writeFileSync(summary, "before\n");
    const env = { GITHUB_STEP_SUMMARY: summary };
    const run = (format: string) => callCli(["compare", "before", "after", "--format", format], { cwd, env });
    expect((await run("github")).stdout).toMatch(/^::error title=pinbench%3A slower::/m);
    expect(readFileSync(summary, "utf8")).toMatch(/^before\n## pinbench compare: Slower: H2D \w+ −/);
    const folder = { GITHUB_STEP_SUMMARY: cwd };
    const refused = await callCli(["compare", "before", "after", "--format", "github"], { cwd, env: folder });
    expect(refused).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/cannot write .*: it is a folder/),
    });
    const written = readFileSync(summary, "utf8");
    await run("markdown");
    expect(readFileSync(summary, "utf8")).toBe(written);
  });
});
