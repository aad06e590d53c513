import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import {
  type Finished,
  pinbench,
  runCli,
  runSmall,
  small,
  start,
  temporaryFolder,
} from "../helpers/run-cli.js";
import { buildRuns } from "../helpers/runs.js";

/* Processes with files, streams and limits that are not the usual ones. */

/** Runs with stdout where every write fails as on a full disk. */
function runWithFullStdout(args: readonly string[], cwd: string) {
  const command = [process.execPath, pinbench, ...args];
  return start("bash", ["-c", '"$@" > /dev/full', "bash", ...command], { cwd }).finished;
}

const diskIsFull = "pinbench: cannot write stdout: the disk is full. Redirect it to another place.\n";

describe("a stdout that cannot be written", () => {
  it.each([
    ["--version", ["--version"]],
    ["devices", ["devices", "--backend", "emulated"]],
    ["run --dry-run", small("--dry-run")],
  ])("is reported in one sentence with exit code 2: %s", async (_, args) => {
    const { exitCode, stderr } = await runWithFullStdout(args, temporaryFolder());
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: diskIsFull });
  });

  it("does not keep a run from writing its files", async () => {
    const cwd = temporaryFolder();
    const { exitCode, stderr } = await runWithFullStdout(
      small("--memory", "pinned", "--output", "a.json"),
      cwd,
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: diskIsFull });
    expect(parseResult(readFileSync(join(cwd, "a.json"), "utf8")).run.status).toBe("complete");
  });
});

describe("a file that cannot be written at the end", () => {
  it("is named, and stdout and the other files are still written", async () => {
    const cwd = temporaryFolder();
    const outputs = ["/dev/full", "a.csv", "/proc/self/../../dev/full", "b.json"];
    const { exitCode, stdout, stderr } = await runSmall(
      ["--memory", "pinned", "--json", ...outputs.flatMap((path) => ["--output", path])],
      { cwd },
    );
    expect(exitCode).toBe(2);
    expect(parseResult(stdout).run.status).toBe("complete");
    expect(readdirSync(cwd).sort()).toEqual(["a.csv", "b.json"]);
    expect(readFileSync(join(cwd, "b.json"), "utf8")).toBe(stdout);
    const failure = (path: string) =>
      `pinbench: cannot write ${path}: the disk is full. Choose another path to write to.`;
    expect(stderr.trim().split("\n").sort()).toEqual([outputs[0]!, outputs[2]!].map(failure).sort());
  });
});

/**
 * A file that is no regular file is named, and nothing waits for it. Each call is a process of its own: a thread that
 * waits for a pipe's other end would keep this one from ending.
 */

const [result, other] = buildRuns({ count: 2 });

const usual = "it is a named pipe, and only regular files are read.";

/** A folder with a result, good.json, and with named pipes, a link to one, and a link to a device. */
function oddFolder(): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "good.json"), JSON.stringify(result));
  writeFileSync(join(folder, "other.json"), JSON.stringify(other));
  mkdirSync(join(folder, "kept"));
  execFileSync("mkfifo", ["pipe", "kept/history.jsonl"], { cwd: folder });
  symlinkSync("pipe", join(folder, "link"));
  symlinkSync("/dev/zero", join(folder, "zero"));
  return folder;
}

describe("a file that is no regular file", () => {
  it.each<[string, string[], string]>([
    ["a result", ["compare", "good.json", "pipe"], `cannot read pipe: ${usual}`],
    ["a baseline", ["compare", "link", "good.json"], `cannot read link: ${usual}`],
    ["a check's baseline", ["check", "--baseline", "pipe"], `cannot read pipe: ${usual}`],
    ["a result that is a device", ["compare", "good.json", "zero"], "cannot read zero: it is a device"],
    ["a history", ["history", "kept"], `cannot read kept/history.jsonl: ${usual}`],
    ["a configuration", small("--config", "pipe"), `cannot read pipe: ${usual}`],
    ["nvbandwidth's result", ["import", "nvbandwidth", "pipe"], `cannot read pipe: ${usual}`],
  ])("is refused as %s", async (_, args, message) => {
    const { exitCode, stdout, stderr } = await runCli(args, { cwd: oddFolder() });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(`pinbench: ${message}`);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  it("is refused as a compiled module", async () => {
    const folder = oddFolder();
    const env = { PINBENCH_ADDON: join(folder, "pipe") };
    const { exitCode, stderr } = await runSmall([], { cwd: folder, env });
    expect(exitCode).toBe(3);
    expect(stderr).toContain("it is not a regular file");
  });
});

describe("a pipe that the shell passes to pinbench", () => {
  it.each([
    ["/dev/stdin", 'cat good.json | "$1" "$2" compare good.json /dev/stdin --json'],
    ["<(…)", '"$1" "$2" compare good.json <(cat good.json) --json'],
  ])("is read to its end as a result: %s", async (_, command) => {
    const shell = ["-c", command, "bash", process.execPath, pinbench];
    const { exitCode, stdout } = await start("bash", shell, { cwd: oddFolder() }).finished;
    expect(exitCode).not.toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ command: "compare" });
  });
});

describe("a run without a usable home or cache folder", () => {
  it.each([{ HOME: "/proc" }, { XDG_CACHE_HOME: "/proc" }, { XDG_CACHE_HOME: "/proc/cache" }])(
    "is complete all the same: %o",
    async (env) => {
      const { exitCode, stdout } = await runSmall(["--json"], { env });
      expect(exitCode).toBe(0);
      expect(parseResult(stdout).run.status).toBe("complete");
    },
  );
});

/** The command line under limits of the shell's, such as "-n 40". */
function underLimit(limit: string, args: readonly string[]): Promise<Finished> {
  const command = `ulimit ${limit} && exec "$@"`;
  return start("bash", ["-c", command, "bash", process.execPath, pinbench, ...args]).finished;
}

describe("a low limit of open files", () => {
  it.each([
    ["devices", ["devices", "--backend", "emulated"]],
    ["run", small("--memory", "pinned")],
    ["run --runs", small("--memory", "pinned", "--runs", "2")],
  ])("is enough for %s: ulimit -n 40", async (_, args) => {
    expect(await underLimit("-n 40", args)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/./),
    });
  });

  it("is named if a measuring process cannot start", async () => {
    const { exitCode, stdout, stderr } = await underLimit("-n 28", small("--runs", "2"));
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(stderr).toBe(
      "pinbench: A measuring process did not start: too many open files (a process may have 28 here). " +
        "Raise the limit with ulimit -n 1024.\n",
    );
  });

  it("is named if pinbench itself cannot start", async () => {
    const { exitCode, stdout, stderr } = await underLimit("-n 22", ["devices"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(stderr).toMatch(
      /^pinbench: too many open files: the limit is 22, and .* Raise it with ulimit -n 1024\.\n$/,
    );
  });
});
