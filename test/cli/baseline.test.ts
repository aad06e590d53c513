import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listRuns } from "../../src/results/files/run-folder.js";
import { parseResult } from "../../src/results/parse.js";
import { expectSentence } from "../helpers/baseline-folder.js";
import { configFile, folderOf } from "../helpers/config.js";
import { callCliAlone } from "../helpers/in-process.js";
import { copyFaults, emulatedFaults, runCli, temporaryFolder } from "../helpers/run-cli.js";

const sweep = ["--backend", "emulated", "--llc", "1MiB", "--sizes", "64KiB", "--samples", "6"];
const small = ["--memory", "pinned", "--workers", "1", "--runs", "2", ...sweep];
const baseline = (cwd: string, args: readonly string[], env = {}) =>
  callCliAlone(["baseline", ...args], { cwd, env });
const documentsIn = async (folder: string) =>
  (await listRuns(folder)).map((path) => parseResult(readFileSync(path, "utf8"), path));

describe("pinbench baseline", () => {
  it("makes a folder of runs, each of another process, and says what it is good for", async () => {
    const cwd = temporaryFolder();
    const args = ["baseline", "new/main", ...small, "--runs", "3"];
    const { exitCode, stdout, stderr } = await runCli(args, { cwd });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^! emulated device: .*\nnew\/main holds 3 runs of 2 cells\.\n/);
    expect(stdout).toMatch(/memory +cells +typical +largest +typical +largest\n.*\n +pinned +2 /);
    expect(stdout).toContain("A check of 5 runs");
    const documents = await documentsIn(join(cwd, "new/main"));
    expect(documents.map(({ run }) => run.status)).toEqual(["complete", "complete", "complete"]);
    expect(new Set(documents.map(({ run }) => run.id)).size).toBe(3);
    expect(documents[0]!.plan).toMatchObject({ samplesPerCell: 6, cells: 2 });
    expect(documents[0]!.host?.lastLevelCacheBytes).toBe(1024 ** 2);
    expect(readdirSync(cwd)).toEqual(["new"]);
  });

  it("measures the plan of the configuration, and checks as often as that says", async () => {
    const plan = {
      backend: "emulated",
      llc: "1MiB",
      sizes: "4KiB",
      workers: 1,
      memory: "pinned",
      samples: 6,
    };
    const cwd = folderOf({ [configFile]: { plan, runs: 7 } });
    const { stdout, stderr } = await baseline(cwd, ["main", "--runs", "2", "--direction", "h2d"]);
    expect(stderr).toBe(`pinbench: Using the configuration ${configFile}.\n`);
    expect(stdout).toContain("A check of 7 runs");
    const documents = await documentsIn(join(cwd, "main"));
    expect(documents.map(({ cells }) => cells.map(({ id }) => id))).toEqual(
      Array(2).fill(["d0/h2d/pinned/4096/w1/throughput/wall/cold"]),
    );
  });

  it("says of a single run that it tells nothing of the spread", async () => {
    const cwd = temporaryFolder();
    const { exitCode, stdout } = await baseline(cwd, [
      "main",
      ...small,
      "--runs",
      "1",
      "--max-pinned",
      "3MiB",
    ]);
    expect(exitCode).toBe(0);
    // A check of it is under the same limit.
    const [document] = await documentsIn(join(cwd, "main"));
    expect(document?.plan?.settings?.maxPinnedBytes).toBe(3 * 1024 ** 2);
    expect(stdout).toMatch(
      /main holds 1 run of 2 cells\.\nOne run does not show the spread between runs: use --runs 10/,
    );
  });
});

describe("no baseline is written", () => {
  it("over one that is there, nor among other files", async () => {
    const cwd = folderOf({ "main/baseline.json": "the old one", file: "" });
    const refusal =
      /main already exists and is not empty\. .*`pinbench check --baseline main --update` replaces/;
    expectSentence(await baseline(cwd, ["main", ...small]), 2, refusal);
    expect(readFileSync(join(cwd, "main/baseline.json"), "utf8")).toBe("the old one");
    expectSentence(
      await baseline(cwd, ["file", ...small]),
      2,
      /cannot write file: a part of its path is a file/,
    );
  });

  it("if it could not be, which is found before measuring", async () => {
    const cwd = folderOf({ file: "" });
    expectSentence(
      await baseline(cwd, ["file/main", ...small]),
      2,
      /cannot write file\/main: a part of its path/,
    );
    expectSentence(await baseline(cwd, ["/proc/main", ...small]), 2, /cannot write \/proc\/main: /);
    expect(readdirSync(cwd)).toEqual(["file"]);
  });

  it.each([
    [
      "a device that cannot be opened",
      emulatedFaults({ call: "cuDevicePrimaryCtxRetain", nth: 1, result: 2 }),
      /\(cuDevicePrimaryCtxRetain failed/,
    ],
    [
      "a cell that fails",
      emulatedFaults({ call: "cuMemcpyDtoHAsync_v2", nth: 1, result: 999 }),
      /\(d0\/h2d\/pinned\S+: cuMemcpyDtoHAsync_v2 failed/,
    ],
    [
      "data that comes back wrong",
      copyFaults("drop", "h2d"),
      /\(d0\/h2d\/pinned\S+: the data came back wrong\)/,
    ],
  ])("from %s", async (_, env, reason) => {
    const cwd = temporaryFolder();
    const finished = await baseline(cwd, ["main", ...small], env);
    expectSentence(finished, 4, /no baseline was written: a measurement failed/);
    expect(finished.stderr).toMatch(reason);
    expect(readdirSync(cwd)).toEqual([]);
  });

  it.each([
    [["--runs", "0"], /"0" is not a number of runs: it must be a whole number from 1 to 1000\./],
    [["--runs", "ten"], /"ten" is not a number of runs/],
    [["--sizes", "0"], /"0" is no size to copy/],
    [["--output", "a.json"], /there is no flag "--output"/],
  ])("with %j", async (args, sentence) => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "kept"), "");
    expectSentence(await baseline(cwd, ["main", ...small, ...args]), 2, sentence);
    expect(readdirSync(cwd)).toEqual(["kept"]);
  });
});
