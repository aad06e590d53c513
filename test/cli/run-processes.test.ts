import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import { filesIn } from "../helpers/baseline-folder.js";
import { callCli, callCliAlone } from "../helpers/in-process.js";
import { markName, measuring, nextMark } from "../helpers/processes.js";
import {
  copyFaults,
  emulatedFaults,
  endless,
  measureSmall,
  runCli,
  small,
  startCli,
  temporaryFolder,
  withTimeEnough,
} from "../helpers/run-cli.js";
import { schemaErrors } from "../helpers/schema-errors.js";

const twoKinds = ["--memory", "pageable,pinned", "--direction", "h2d"];

describe("pinbench run --processes", () => {
  it("measures the sweep in N processes, and gives one document of all", async () => {
    const { exitCode, stderr, document } = await measureSmall([...twoKinds, "--processes", "3"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(schemaErrors(document)).toBeNull();
    expect(document.run).toMatchObject({ status: "complete", error: null });
    expect(document.run.argv).toContain("--processes");
    expect(new Set(document.run.processes?.map(({ id }) => id)).size).toBe(3);
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

  it("says in the table which interval it shows, and in every format what was measured", async () => {
    const cwd = temporaryFolder();
    const files = ["a.csv", "a.md"].flatMap((name) => ["--output", join(cwd, name)]);
    const { stdout } = await callCliAlone(small(...twoKinds, "--processes", "3", "--verbose", ...files));
    const said = stdout.replaceAll(/\s+/g, " ");
    expect(said).toContain("medians of 3 processes, ± half the 95 % interval between them");
    expect(said).toContain("note: the conclusions rest on the intervals between the processes");
    expect(readdirSync(cwd).sort()).toEqual(["a.csv", "a.md"]);
    const [head = [], row = []] = readFileSync(join(cwd, "a.csv"), "utf8")
      .split("\n")
      .map((line) => line.split(","));
    // From the end, as the notice has commas of its own.
    expect(row.at(head.indexOf("processes") - head.length)).toBe("3");
    expect(readFileSync(join(cwd, "a.md"), "utf8")).toContain("medians of 3 processes");
  });

  it("says where there are too few for an interval", async () => {
    const { stdout } = await callCliAlone(small(...twoKinds, "--processes", "2", "--verbose"));
    expect(stdout).toContain("±? too few processes for an interval");
    expect(stdout.replaceAll(/\s+/g, " ")).toContain("3 processes measure it");
  });

  it("lists what the plan skips", async () => {
    const { stdout } = await callCliAlone(
      small(...twoKinds, "--timer", "wall,event", "--processes", "2", "--json"),
    );
    const skipped = parseResult(stdout).cells.filter(({ outcome }) => outcome === "skipped");
    expect(skipped.map(({ memory, timer }) => [memory, timer])).toEqual([["pageable", "event"]]);
  });

  it("counts as N runs in a comparison", async () => {
    const cwd = temporaryFolder();
    for (const name of ["a.json", "b.json"]) {
      await callCliAlone(small(...twoKinds, "--processes", "3", "--output", join(cwd, name)));
    }
    const { stdout } = await callCli(["compare", "a.json", "b.json", "--no-config"], { cwd });
    expect(stdout).toMatch(/Baseline +a\.json, 3 runs/);
    expect(stdout).toMatch(/Candidate +b\.json, 3 runs/);
  });
});

describe("a process that goes wrong", () => {
  it("with data that came back wrong, is exit code 4, and its cells are a mismatch", async () => {
    const args = [...twoKinds, "--mode", "latency", "--samples", "300", "--llc", "16MiB", "--processes", "2"];
    const { exitCode, stderr, document } = await measureSmall(args, copyFaults("flip", "h2d"));
    expect(exitCode).toBe(4);
    expect(stderr).toMatch(/^pinbench: DATA CAME BACK WRONG in H2D pageable 64 KiB x1 /);
    expect(document.cells.map(({ outcome }) => outcome)).toEqual(["mismatch", "mismatch"]);
  });

  it("by losing its context, ends the run: no other is started", async () => {
    const { exitCode, stderr, document } = await measureSmall([...twoKinds, "--processes", "3"], {
      ...emulatedFaults({ call: "cuMemcpyHtoDAsync_v2", nth: 3, result: 700 }),
    });
    expect(exitCode).toBe(4);
    expect(stderr).toMatch(/^pinbench: The run failed: process 1 of 3: .*CUDA_ERROR_ILLEGAL_ADDRESS/);
    expect(document.run.status).toBe("failed");
    expect(document.run.processes).toHaveLength(1);
  });
});

describe("an interrupted run of several processes", () => {
  const manyProcesses = ["--memory", "pinned", "--direction", "h2d", "--processes", "99"];

  /** One that has measured at least one process: FILE.partial tells. */
  async function startSeries(...args: string[]) {
    const cwd = temporaryFolder();
    const file = join(cwd, "result.json");
    writeFileSync(file, "before");
    const started = startCli(small(...manyProcesses, "--output", file, ...args), { cwd });
    while (!existsSync(`${file}.partial`)) {
      if (started.child.exitCode !== null) throw new Error("it ended before it was interrupted");
      await sleep(20);
    }
    return { ...started, cwd, file };
  }

  it("keeps the processes that came to their end, and exits with 130", async () => {
    const { child, finished, cwd, file } = await startSeries("--json");
    expect(parseResult(readFileSync(`${file}.partial`, "utf8")).run.status).toBe("running");
    child.kill("SIGINT");
    const { exitCode, stdout } = await finished;
    expect(exitCode).toBe(130);
    expect(readdirSync(cwd)).toEqual(["result.json"]);
    expect(readFileSync(file, "utf8")).toBe(stdout);
    const document = parseResult(stdout);
    expect(document.run).toMatchObject({ status: "aborted", error: null });
    const whole = document.run.processes!.length;
    expect(whole).toBeGreaterThan(0);
    expect(document.cells[0]?.stats[0]?.bandwidthGBps.processMedians).toHaveLength(whole);
  });

  it("leaves the file as it was if no process came to its end, and says so", async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "result.json"), "before");
    const args = [...endless, ...manyProcesses, "--output", "result.json"];
    const mark = nextMark();
    const { child, finished } = startCli(small(...args), { cwd, env: { [markName]: mark } });
    await vi.waitFor(() => expect(measuring(mark)).toHaveLength(1), { timeout: 50_000, interval: 20 });
    child.kill("SIGINT");
    expect(await finished).toEqual({
      ...{ exitCode: 130, signal: null, stdout: "" },
      stderr: "pinbench: interrupted, nothing was measured: nothing was written to result.json.\n",
    });
    expect(filesIn(cwd)).toEqual({ "result.json": "before" });
    await vi.waitFor(() => expect(measuring(mark)).toEqual([]), { timeout: 50_000 });
  });

  it("has a document without figures if no process came to its end", async () => {
    const document = await withTimeEnough(async (seconds) => {
      const args = [...endless, ...manyProcesses, "--json"];
      const { exitCode, stdout } = await runCli(small(...args, "--deadline", `${seconds}s`));
      expect(exitCode).toBe(4);
      return stdout === "" ? null : parseResult(stdout);
    });
    expect(document.run.status).toBe("aborted");
    expect(document.cells.map(({ stats, outcome }) => [stats, outcome])).toEqual([[[], null]]);
  });
});
