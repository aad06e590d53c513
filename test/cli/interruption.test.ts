import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import { filesIn } from "../helpers/baseline-folder.js";
import { untilInSlowCopy } from "../helpers/processes.js";
import {
  endless,
  pinbench,
  restingLink,
  type Started,
  small,
  start,
  startCli,
  temporaryFolder,
} from "../helpers/run-cli.js";
import { schemaErrors } from "../helpers/schema-errors.js";

/** Never converges, and would take an hour. */
const twoMemories = ["--memory", "pageable,pinned", ...endless];

/** A run that has measured its first rounds, as its FILE.partial shows. */
async function startEndless(...args: string[]): Promise<Started & { cwd: string; file: string }> {
  const cwd = temporaryFolder();
  const file = join(cwd, "result.json");
  writeFileSync(file, "before");
  const started = startCli(small(...twoMemories, "--output", file, ...args), { cwd, env: restingLink });
  while (!existsSync(`${file}.partial`)) {
    if (started.child.exitCode !== null) throw new Error("it ended before it was interrupted");
    await sleep(20);
  }
  return { ...started, cwd, file };
}

describe("a run that is interrupted while it measures", () => {
  it("by SIGINT, SIGTERM or SIGHUP leaves a valid document of what was measured", async () => {
    await Promise.all([
      expectDocument("SIGINT", 130),
      expectDocument("SIGTERM", 143),
      expectDocument("SIGHUP", 129),
    ]);
  });

  async function expectDocument(signal: NodeJS.Signals, code: number): Promise<void> {
    const { child, finished, cwd, file } = await startEndless("--json");
    child.kill(signal);
    const { exitCode, stdout } = await finished;
    expect(exitCode).toBe(code);
    expect(readdirSync(cwd)).toEqual(["result.json"]);
    expect(readFileSync(file, "utf8")).toBe(stdout);
    expect(schemaErrors(JSON.parse(stdout))).toBeNull();

    const document = parseResult(stdout);
    expect(document.run).toMatchObject({ status: "aborted", error: null });
    expect(document.run.finishedAt).not.toBeNull();
    for (const cell of document.cells) {
      expect(cell.outcome).toBeNull();
      expect(cell.stats[0]?.samples).toBeGreaterThan(0);
    }
  }
});

/** A folder with earlier results of these names, and the --output flags for them. */
function earlierResults(names: readonly string[]): { cwd: string; outputs: string[] } {
  const cwd = temporaryFolder();
  for (const name of names) writeFileSync(join(cwd, name), `good ${name}`);
  return { cwd, outputs: names.flatMap((name) => ["--output", name]) };
}

describe("a run that is interrupted before its first figure", () => {
  /** Signals during the first copy, which takes longer than the run waits for it. */
  async function interrupted(signal: NodeJS.Signals, cwd: string, ...args: string[]) {
    const { child, finished } = startCli(slowCopies(...args), { cwd, env: slowLink });
    await untilInSlowCopy(child.pid!);
    child.kill(signal);
    return finished;
  }

  it.each([
    ["SIGINT", ["good.json"], [], "good.json"],
    [
      ...["SIGTERM", ["good.json", "good.csv", "good.md", "good.txt"], ["--output", "new.json"]],
      "good.json, good.csv, good.md, good.txt and new.json",
    ],
  ] as [NodeJS.Signals, string[], string[], string][])(
    "by %s leaves %j unchanged, makes no other file, and says so",
    async (signal, names, more, listed) => {
      const { cwd, outputs } = earlierResults(names);
      const { stdout, stderr } = await interrupted(signal, cwd, ...outputs, ...more);
      expect({ stdout, stderr }).toEqual({
        stdout: "",
        stderr: `pinbench: interrupted, nothing was measured: nothing was written to ${listed}.\n`,
      });
      expect(filesIn(cwd)).toEqual(Object.fromEntries(names.map((name) => [name, `good ${name}`])));
    },
  );

  it("still prints a JSON document, and counts no skipped cell as measured", async () => {
    const { cwd, outputs } = earlierResults(["good.json"]);
    // The emulated device does not access pageable memory by itself.
    const skipping = ["--memory", "pageable,system"];
    const { stdout, stderr } = await interrupted("SIGINT", cwd, ...outputs, ...skipping, "--json");
    expect(stderr).toContain("pinbench: interrupted, nothing was measured");
    const { run, cells } = parseResult(stdout);
    expect(run.status).toBe("aborted");
    expect(cells.map(({ outcome }) => outcome)).toContain("skipped");
    expect(filesIn(cwd)).toEqual({ "good.json": "good good.json" });
  });
});

/** Runs a command in a terminal, closes that once FILE.partial exists, and prints the command's exit status. */
const closingTerminal = `
import os, pty, select, sys
partial, command = sys.argv[1], sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
while not os.path.exists(partial):
    if select.select([terminal], [], [], 0.02)[0]:
        os.read(terminal, 65536)
os.close(terminal)
status = os.waitpid(pid, 0)[1]
print(-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))`;

const hasPython = spawnSync("python3", ["--version"]).status === 0;

it.runIf(hasPython)(
  "a run whose terminal closes leaves a document of what was measured, and no core dump",
  async () => {
    const cwd = temporaryFolder();
    const file = join(cwd, "result.json");
    writeFileSync(file, "before");
    const command = [process.execPath, pinbench, ...small(...twoMemories, "--output", file)];
    const { stdout } = await start("python3", ["-c", closingTerminal, `${file}.partial`, ...command])
      .finished;
    expect(Number(stdout)).toBe(-constants.signals.SIGHUP);
    expect(readdirSync(cwd)).toEqual(["result.json"]);
    expect(parseResult(readFileSync(file, "utf8")).run.status).toBe("aborted");
  },
);

/** A run of warm pinned copies, each of which takes 6 s, and no abort cuts it short. */
const slowCopies = (...args: string[]) =>
  small("--memory", "pinned", "--direction", "h2d", "--cache", "warm", "--quiet", ...args);
const slowLink = { PINBENCH_EMULATED_LINK: "1e4" };
