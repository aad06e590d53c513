import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import { filesIn } from "../helpers/baseline-folder.js";
import { callCli, callCliAlone, playRuns, signalCall } from "../helpers/in-process.js";
import { copyFaults, emulatedFaults, measureSmall, small, temporaryFolder } from "../helpers/run-cli.js";
import { schemaErrors } from "../helpers/schema-errors.js";

const twoKinds = ["--memory", "pageable,pinned", "--direction", "h2d"];

describe("pinbench run --runs", () => {
  it("measures all cells in N processes, and prints one document of all processes", async () => {
    const { exitCode, stderr, document } = await measureSmall([...twoKinds, "--runs", "3"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(schemaErrors(document)).toBeNull();
    expect(document.run).toMatchObject({ status: "complete", error: null });
    expect(document.run.argv).toContain("--runs");
    expect(new Set(document.run.runs?.map(({ id }) => id)).size).toBe(3);
    expect(document.plan).toMatchObject({ cells: 3, rounds: 6 });
    for (const { samples, stats, outcome } of document.cells) {
      expect(outcome).not.toBeNull();
      expect(samples.map(({ process }) => process)).toEqual([0, 1, 2]);
      expect(stats[0]?.samples).toBe(18);
      const { median, low, high, processMedians } = stats[0]!.bandwidthGBps;
      expect(processMedians).toHaveLength(3);
      expect(median).toBe([...processMedians!].sort((a, b) => a - b)[1]);
      expect(low).toBeLessThan(median);
      expect(high).toBeGreaterThan(median);
    }
    expect(document.coldStart[0]?.pinning[0]?.repetitions).toBe(9);
  });

  it("names the interval between processes in the table, and their number in each file", async () => {
    const cwd = temporaryFolder();
    const files = ["a.csv", "a.md"].flatMap((name) => ["--output", join(cwd, name)]);
    const { stdout } = await callCliAlone(small(...twoKinds, "--runs", "3", "--all", ...files));
    const said = stdout.replaceAll(/\s+/g, " ");
    expect(said).toContain("medians of 3 processes, ± half the 95 % interval between them");
    expect(readdirSync(cwd).sort()).toEqual(["a.csv", "a.md"]);
    const [head = [], row = []] = readFileSync(join(cwd, "a.csv"), "utf8")
      .split("\n")
      .map((line) => line.split(","));
    expect(row[head.indexOf("processes")]).toBe("3");
    expect(readFileSync(join(cwd, "a.md"), "utf8")).toContain("medians of 3 processes");
  });

  it("shows ±? if the runs are too few for an interval", async () => {
    const { stdout } = await callCliAlone(small(...twoKinds, "--runs", "2", "--all"));
    expect(stdout).toContain("±?");
  });
});

describe("pinbench run --runs with a faulty process", () => {
  it("exits with 7 if data came back wrong, and marks the cells as a mismatch", async () => {
    const args = [...twoKinds, "--mode", "latency", "--samples", "300", "--sizes", "4KiB", "--runs", "2"];
    const { exitCode, stderr, document } = await measureSmall(args, copyFaults("flip", "h2d"));
    expect(exitCode).toBe(7);
    expect(stderr).toMatch(/^pinbench: DATA CAME BACK WRONG in H2D pageable 4 KiB /);
    expect(document.cells.map(({ outcome }) => outcome)).toEqual(["mismatch", "mismatch"]);
  });

  it("starts no further process once one has lost its CUDA context", async () => {
    const { exitCode, stderr, document } = await measureSmall([...twoKinds, "--runs", "3"], {
      ...emulatedFaults("cuMemcpyHtoDAsync_v2:700:nth=3"),
    });
    expect(exitCode).toBe(4);
    expect(stderr).toMatch(/^pinbench: The run failed: run 1 of 3: .*CUDA_ERROR_ILLEGAL_ADDRESS/);
    expect(document.run.status).toBe("failed");
    expect(document.run.runs).toHaveLength(1);
  });
});

describe("an interrupted run of several processes", () => {
  /** Interrupts a run after this many finished processes. */
  async function interrupted(whole: number, ...args: string[]) {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "result.json"), "before");
    const { document } = await measureSmall(["--memory", "pinned", "--direction", "h2d"]);
    playRuns(async function* () {
      for (let run = 0; run < whole; ++run) yield { kind: "result", run, document };
      signalCall("SIGINT");
    });
    const few = ["--memory", "pinned", "--direction", "h2d", "--runs", "9", "--output", "result.json"];
    const finished = await callCli(small(...few, ...args), { cwd });
    expect(finished.exitCode).toBe(130);
    return { ...finished, files: filesIn(cwd) };
  }

  it("keeps the results of finished processes", async () => {
    const { stdout, files } = await interrupted(2, "--json");
    expect(files).toEqual({ "result.json": stdout });
    const document = parseResult(stdout);
    expect(document.run).toMatchObject({ status: "aborted", error: null });
    expect(document.run.runs).toHaveLength(2);
    expect(document.cells[0]?.stats[0]?.bandwidthGBps.processMedians).toHaveLength(2);
  });

  it("keeps the old file if no process has finished, and says so", async () => {
    expect(await interrupted(0)).toMatchObject({
      stdout: "",
      stderr: "pinbench: interrupted, nothing was measured: nothing was written to result.json.\n",
      files: { "result.json": "before" },
    });
    const { run, cells } = parseResult((await interrupted(0, "--json")).stdout);
    expect(run.status).toBe("aborted");
    expect(cells.map(({ stats, outcome }) => [stats, outcome])).toEqual([[[], null]]);
  });
});
