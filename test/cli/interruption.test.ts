import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import { type Started, small, startCli, temporaryFolder } from "../helpers/run-cli.js";
import { schemaErrors } from "../helpers/schema-errors.js";

/** Never converges, and would take an hour. */
const endless = ["--memory", "pageable,pinned", "--budget", "1h", "--precision", "0.0001%"];

/** A run that has measured its first rounds: FILE.partial tells. */
async function startEndless(...args: string[]): Promise<Started & { cwd: string; file: string }> {
  const cwd = temporaryFolder();
  const file = join(cwd, "result.json");
  writeFileSync(file, "before");
  const started = startCli(small(...endless, "--output", file, ...args), { cwd });
  while (!existsSync(`${file}.partial`)) {
    if (started.child.exitCode !== null) throw new Error("it ended before it was interrupted");
    await sleep(20);
  }
  return { ...started, cwd, file };
}

describe("a signal in the middle of a run", () => {
  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s leaves a valid document of what was measured, soon, and exits %i", async (signal, code) => {
    const { child, finished, cwd, file } = await startEndless("--json");
    const signalledMs = performance.now();
    child.kill(signal);
    const { exitCode, stdout } = await finished;
    expect(performance.now() - signalledMs).toBeLessThan(5000);
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
  });

  it("says in the table that it was interrupted", async () => {
    const { child, finished } = await startEndless();
    child.kill("SIGINT");
    const { exitCode, stdout, stderr } = await finished;
    expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: "" });
    expect(stdout).toContain("! interrupted: these are the figures measured until then\n");
    expect(stdout).toContain("not finished: what was measured until the run ended");
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

it("a second SIGINT ends it at once, whatever the driver is doing", async () => {
  const cwd = temporaryFolder();
  // 32 copies of 4 MiB wait for one engine that takes a thousand times as long: seconds that no abort cuts short.
  const { child, finished } = startCli(
    small(
      "--memory",
      "pinned",
      "--sizes",
      "4MiB",
      "--workers",
      "32",
      "--cache",
      "warm",
      "--output",
      "result.json",
    ),
    { cwd, env: { PINBENCH_EMULATED_FAULTS: "slow-h2d=1000" } },
  );
  await sleep(3000);
  child.kill("SIGINT");
  await sleep(500);
  expect(child.exitCode).toBeNull();
  const signalledMs = performance.now();
  child.kill("SIGINT");
  const { signal, stdout } = await finished;
  expect(performance.now() - signalledMs).toBeLessThan(1000);
  expect({ signal, stdout }).toEqual({ signal: "SIGINT", stdout: "" });
  expect(readdirSync(cwd)).toEqual([]);
});

it("a Ctrl-C that comes twice, from the terminal and from npm, is one", async () => {
  const { child, finished } = await startEndless("--json");
  child.kill("SIGINT");
  await sleep(20);
  child.kill("SIGINT");
  const { exitCode, stdout } = await finished;
  expect(exitCode).toBe(130);
  expect(parseResult(stdout).run.status).toBe("aborted");
});
