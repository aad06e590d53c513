import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import { pinbench, runCli, runSmall, small, start, startCli, temporaryFolder } from "../helpers/run-cli.js";
import { buildRuns } from "../helpers/runs.js";

/**
 * What is no regular file is named, and nothing waits for it: each of these is a process of its own, for a thread that
 * waits for a pipe's other end would keep a process from ending.
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

describe("what is no regular file", () => {
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

describe("a pipe that the shell hands over", () => {
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

describe("a home in which no folder can be made", () => {
  it.each([{ HOME: "/proc" }, { XDG_CACHE_HOME: "/proc" }, { XDG_CACHE_HOME: "/proc/cache" }])(
    "is done without: %o",
    async (env) => {
      const { exitCode, stdout } = await runSmall(["--json"], { env });
      expect(exitCode).toBe(0);
      expect(parseResult(stdout).run.status).toBe("complete");
    },
  );
});

describe("a named pipe that nothing reads", () => {
  it("is said to be waited for, and a signal ends that at once", async () => {
    const cwd = oddFolder();
    execFileSync("mkfifo", ["pipe.json"], { cwd });
    const { child, finished } = startCli(["compare", "good.json", "other.json", "--output", "pipe.json"], {
      cwd,
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child.stderr!, "data");
    child.kill("SIGTERM");
    const { signal, stderr } = await finished;
    expect({ signal, stderr }).toEqual({
      signal: "SIGTERM",
      stderr: "pinbench: still writing pipe.json: a named pipe waits for a reader.\n",
    });
  });
});

describe("a name that is not UTF-8", () => {
  it("is refused, for Node knows another one: no other file is read or written", async () => {
    const command = `"$1" "$2" compare good.json other.json --output $'a\\xff.json'`;
    const cwd = oddFolder();
    const shell = ["-c", command, "bash", process.execPath, pinbench];
    const { exitCode, stdout, stderr } = await start("bash", shell, { cwd }).finished;
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^pinbench: the argument "a.*\.json" is not UTF-8/);
    expect(readdirSync(cwd).sort()).toEqual(["good.json", "kept", "link", "other.json", "pipe", "zero"]);
  });
});
