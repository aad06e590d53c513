import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import { fillRunSettings } from "../../src/settings/settings.js";
import { filesIn } from "../helpers/baseline-folder.js";
import { isRunning, untilInSlowCopy } from "../helpers/processes.js";
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

/** A run that has measured its first rounds: FILE.partial tells. */
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

describe("a signal in the middle of a run", () => {
  it("SIGINT, SIGTERM or SIGHUP leaves a valid document of what was measured", async () => {
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

  it("says in the table that it was interrupted", async () => {
    const { child, finished } = await startEndless();
    child.kill("SIGINT");
    const { exitCode, stdout, stderr } = await finished;
    expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: "" });
    expect(stdout).toContain("! interrupted: these figures were measured before that\n");
    expect(stdout).toContain("not finished: figures measured before the run ended");
  });

  it("SIGKILL leaves FILE as it was, and FILE.partial", async () => {
    const { child, finished, cwd, file } = await startEndless();
    child.kill("SIGKILL");
    expect((await finished).signal).toBe("SIGKILL");
    expect(readFileSync(file, "utf8")).toBe("before");
    expect(readdirSync(cwd)).toContain("result.json.partial");
    expect(parseResult(readFileSync(`${file}.partial`, "utf8")).run.status).toBe("running");
  });
});

/** Fills the files' folder with good results of before, and tells what is in it. */
function earlierResults(names: readonly string[]): { cwd: string; outputs: string[] } {
  const cwd = temporaryFolder();
  for (const name of names) writeFileSync(join(cwd, name), `good ${name}`);
  return { cwd, outputs: names.flatMap((name) => ["--output", name]) };
}

describe("a signal before there is any figure", () => {
  /** Before the first copy has come to its end, which takes longer than the run waits for it. */
  async function interrupted(signal: NodeJS.Signals, cwd: string, ...args: string[]) {
    const { child, finished } = startCli(slowCopies(...args), { cwd, env: slowLink });
    await untilInSlowCopy(child.pid!);
    child.kill(signal);
    return finished;
  }

  it("leaves a file as it was, and says so", async () => {
    const { cwd, outputs } = earlierResults(["good.json"]);
    const { stdout, stderr } = await interrupted("SIGINT", cwd, ...outputs);
    expect({ stdout, stderr }).toEqual({
      stdout: "",
      stderr: "pinbench: interrupted, nothing was measured: nothing was written to good.json.\n",
    });
    expect(filesIn(cwd)).toEqual({ "good.json": "good good.json" });
  });

  it("leaves files of all formats, and makes none that was not there", async () => {
    const expectLeft = async (signal: NodeJS.Signals) => {
      const names = ["good.json", "good.csv", "good.md", "good.txt"];
      const { cwd, outputs } = earlierResults(names);
      const { stderr } = await interrupted(signal, cwd, ...outputs, "--output", "new.json");
      expect(stderr).toContain(
        "nothing was written to good.json, good.csv, good.md, good.txt and new.json.\n",
      );
      expect(filesIn(cwd)).toEqual(Object.fromEntries(names.map((name) => [name, `good ${name}`])));
    };
    await Promise.all([expectLeft("SIGTERM"), expectLeft("SIGHUP")]);
  });

  it("still tells the program that reads stdout, and does not take what the plan skips for measured", async () => {
    const { cwd, outputs } = earlierResults(["good.json"]);
    // Pageable memory has no view of the copy engine's own.
    const skipping = ["--memory", "pageable,pinned", "--timer", "wall,event"];
    const { stdout, stderr } = await interrupted("SIGINT", cwd, ...outputs, ...skipping, "--json");
    expect(stderr).toContain("pinbench: interrupted, nothing was measured");
    const { run, cells } = parseResult(stdout);
    expect(run.status).toBe("aborted");
    expect(cells.map(({ outcome }) => outcome)).toContain("skipped");
    expect(filesIn(cwd)).toEqual({ "good.json": "good good.json" });
  });
});

it("one SIGHUP after the other, as a terminal that closes sends them, cuts nothing short", async () => {
  const { child, finished, file } = await startEndless("--json");
  const again = setInterval(() => child.kill("SIGHUP"), 5);
  // A process that has written all and is ending no longer listens.
  child.stdout!.on("data", () => clearInterval(again));
  const { exitCode, stdout } = await finished;
  expect(exitCode).toBe(129);
  expect(readFileSync(file, "utf8")).toBe(stdout);
});

it("a SIGHUP that comes long after the first cuts nothing short either, and any other signal does", async () => {
  const module = new URL("../../dist/cli/interruption.js", import.meta.url).href;
  const program = `
    import { setTimeout as sleep } from "node:timers/promises";
    import { Interruption } from ${JSON.stringify(module)};
    const interruption = new Interruption();
    for (const name of ["SIGHUP", "SIGHUP"]) {
      process.kill(process.pid, name);
      await sleep(300);
    }
    console.log(interruption.exitCode);
    process.kill(process.pid, "SIGTERM");
    await sleep(60_000);`;
  const { stdout, signal } = await start(process.execPath, ["--input-type=module", "-e", program]).finished;
  expect({ stdout, signal }).toEqual({ stdout: "129\n", signal: "SIGTERM" });
});

/** Runs a command in a terminal, closes that when there is FILE.partial, and prints what the command came to. */
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
  "a terminal that closes leaves a document of what was measured, and no core dump",
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

it("SIGINT before the command is even loaded is answered too", async () => {
  const cwd = temporaryFolder();
  const atOnce = `process.on("newListener", (name) => {
    if (name === "SIGINT") setImmediate(() => process.kill(process.pid, "SIGINT"));
  });`;
  const preload = ["--import", `data:text/javascript,${encodeURIComponent(atOnce)}`];
  // The loaded command would refuse this flag.
  const args = [...preload, pinbench, "run", "--output", "early.json", "--no-such-flag"];
  const { exitCode, stderr } = await start(process.execPath, args, { cwd }).finished;
  expect({ exitCode, stderr }).toEqual({
    exitCode: 130,
    stderr: "pinbench: interrupted, nothing was measured: nothing was written to early.json.\n",
  });
});

it("a second SIGINT ends it at once, whatever the driver is doing, and a SIGHUP does not", async () => {
  const cwd = temporaryFolder();
  // 32 copies wait for one link: together far longer than this test.
  const workers = 32;
  const args = slowCopies("--workers", String(workers), "--output", "result.json");
  const { child, finished } = startCli(args, { cwd, env: slowLink });
  await untilInSlowCopy(child.pid!, workers);
  child.kill("SIGINT");
  await sleep(500);
  child.kill("SIGHUP");
  await sleep(100);
  expect(isRunning(child.pid!)).toBe(true);
  child.kill("SIGINT");
  const { signal, stdout } = await finished;
  expect({ signal, stdout }).toEqual({ signal: "SIGINT", stdout: "" });
  expect(readdirSync(cwd)).toEqual([]);
});

describe("a Ctrl-C that comes twice, from the terminal and from npm, is one", () => {
  /**
   * Sends the second SIGINT after `between`, which begins before the first, and returns how the run ended. A machine
   * that others keep busy may take longer than one Ctrl-C lasts: then it is tried again.
   */
  async function interruptTwice(
    begin: () => Promise<Started>,
    between: (child: Started["child"]) => Promise<unknown>,
  ): Promise<{ exitCode: number | null; wasAliveBetween: boolean; status: string }> {
    for (let tries = 0; tries < 60; ++tries) {
      const { child, finished } = await begin();
      const isTime = between(child);
      child.kill("SIGINT");
      const signalledMs = performance.now();
      await isTime;
      const wasAliveBetween = isRunning(child.pid!);
      child.kill("SIGINT");
      const elapsedMs = performance.now() - signalledMs;
      const { exitCode, stdout } = await finished;
      if (elapsedMs > 200) continue;
      return { exitCode, wasAliveBetween, status: parseResult(stdout).run.status };
    }
    throw new Error("the second signal never came in time");
  }

  const asByOne = { exitCode: 130, wasAliveBetween: true, status: "aborted" };

  /** For that many tries. */
  const timeout = 240_000;

  it("while a copy holds the run", { timeout }, async () => {
    const begin = async () => {
      const started = startCli(slowCopies("--json"), { env: slowLink });
      await untilInSlowCopy(started.child.pid!);
      return started;
    };
    expect(await interruptTwice(begin, () => sleep(20))).toEqual(asByOne);
  });

  it("also if the run has ended between them", { timeout }, async () => {
    const hasPrinted = async (child: Started["child"]) => {
      await once(child.stdout!, "data");
      await sleep(50);
    };
    expect(await interruptTwice(() => startEndless("--json"), hasPrinted)).toEqual(asByOne);
  });
});

it("a process whose starter is gone is killed 2 s later, whatever the driver is doing", async () => {
  const settings = fillRunSettings({
    origin: "caller",
    given: { backend: "emulated", lastLevelCacheBytes: 1024 ** 2, samplesPerCell: 6 },
  });
  const cells = ["d0/h2d/pinned/65536/w32/throughput/wall/warm"];
  const starter = `
    const { spawn } = require("node:child_process");
    const stdio = ["pipe", "ignore", "ignore", "ipc"];
    const child = spawn(process.execPath, [${JSON.stringify(pinbench)}, "measure"], { stdio });
    child.stdin.end(process.argv[1]);
    console.log(child.pid);`;
  const args = ["-e", starter, JSON.stringify({ ...settings, cells })];
  const { child } = start(process.execPath, args, { env: slowLink });
  const [printed] = await once(child.stdout!, "data");
  const pid = Number(printed);
  try {
    await untilInSlowCopy(pid);
    child.kill("SIGKILL");
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 50_000, interval: 50 });
  } finally {
    if (isRunning(pid)) process.kill(pid, "SIGKILL");
  }
});

const compiled = new URL("../../dist/cli/interruption.js", import.meta.url).href;

it("work that goes on after a signal keeps no process alive for longer than 2 s", async () => {
  const program = `
    const { Interruption } = await import(process.argv[1]);
    const interruption = new Interruption();
    // A driver call that never returns.
    setInterval(() => undefined, 1000);
    setTimeout(() => process.kill(process.pid, "SIGINT"), 1);
    console.log(await interruption.unlessAborted(new Promise(() => undefined)));
    interruption.dispose();
    setTimeout(() => process.exit(0), 30_000);`;
  const args = ["--input-type=module", "-e", program, compiled];
  const { stdout, signal } = await start(process.execPath, args).finished;
  expect({ stdout, signal }).toEqual({ stdout: "null\n", signal: "SIGKILL" });
});

describe("of a signal and the end of the channel, the first decides on the exit code", () => {
  const program = `
    const { Interruption } = await import(process.argv[1]);
    const interruption = new Interruption();
    // Listening keeps no process running.
    setTimeout(() => undefined, 30_000);
    for (const what of process.argv.slice(2)) {
      const come = new Promise((resolve) => process.once(what, resolve));
      what === "disconnect" ? process.disconnect() : process.kill(process.pid, what);
      await come;
    }
    process.exit(interruption.exitCode);`;
  it.each([
    ["SIGTERM, disconnect", "", 143],
    ["disconnect, SIGTERM", "", 130],
    ["SIGINT, disconnect", "1", 130],
    ["disconnect, SIGINT", "1", 4],
  ])("%s, watched by a deadline: %j", async (events, watched, exitCode) => {
    const args = ["--input-type=module", "-e", program, compiled, ...events.split(", ")];
    const env = { ...process.env, PINBENCH_WATCHED: watched };
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "inherit", "inherit", "ipc"] });
    expect(await once(child, "exit")).toEqual([exitCode, null]);
  });
});
