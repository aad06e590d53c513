import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  coldTraining,
  expectNothingLeft,
  folder,
  startTune,
  type Traced,
  training,
  tune,
} from "../helpers/live-job.js";
import type { Finished } from "../helpers/run-cli.js";
import { skipWithoutTorch } from "../helpers/test-python.js";
import { marked } from "../tune/torch/support.js";

/** Empty for what is no process, or none any more. */
function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

describe.concurrent("a job leaves nothing behind", () => {
  skipWithoutTorch();

  /** Signals pinbench when `when` is there to be seen. */
  async function signalled(
    signal: NodeJS.Signals,
    when: (seen: { mark: string; stderr: string; marker: string }) => boolean,
    args: string[],
    { flags = [], script = training }: { flags?: string[]; script?: typeof training } = {},
  ): Promise<Finished & Traced> {
    const mark = join(folder(), "mark");
    const command = script("--length", "100000", "--mark", mark, ...args);
    const { child, finished, ...traced } = startTune(command, ["--budget", "60s", ...flags]);
    let stderr = "";
    child.stderr?.on("data", (text: string) => {
      stderr += text;
    });
    while (!when({ mark, stderr, marker: traced.marker })) {
      if (child.exitCode !== null) throw new Error(`it ended before: ${(await finished).stderr}`);
      await sleep(20);
    }
    child.kill(signal);
    return { ...(await finished), ...traced };
  }

  type When = Parameters<typeof signalled>[1];
  const atStart: When = ({ marker }) => marked(marker).length >= 3;
  const atFirstStep: When = ({ mark }) => existsSync(mark);
  const inSearch: When = ({ stderr }) => /best so far/.test(stderr);

  it.each([
    { name: "at its start", when: atStart, args: [] },
    { name: "at its first step", when: atFirstStep, args: ["--workers", "2"] },
    {
      name: "in the search, with workers that were spawned",
      when: inSearch,
      args: ["--workers", "1", "--start-method", "spawn"],
    },
  ])("if pinbench is killed, $name", async ({ when, args }) => {
    const run = await signalled("SIGKILL", when, args, { script: coldTraining });
    expect(run.signal).toBe("SIGKILL");
    await expectNothingLeft(run);
  });

  it("if a process has a session of its own and no environment", async () => {
    const hidden = `sleep ${1e6 + process.pid}`;
    const job = `setsid env -i ${hidden} & exec ${hidden}`;
    const { exitCode } = await tune(["sh", "-c", job], "--timeout", "250ms");
    expect(exitCode).toBe(4);
    const running = readdirSync("/proc").filter((pid) => commandLine(pid).includes(hidden));
    expect(running).toEqual([]);
  });

  it.each([
    { signal: "SIGINT", exitCode: 130, script: coldTraining },
    { signal: "SIGTERM", exitCode: 143, script: training },
  ] as const)("at $signal, with what was found until then", async ({ signal, exitCode, script }) => {
    const finished = await signalled(signal, inSearch, ["--workers", "1"], {
      script,
    });
    expect(finished.exitCode, finished.stderr).toBe(exitCode);
    expect(finished.stderr).toContain("! interrupted: these results were measured before that\n");
    // The hook keeps the traceback through the script from the terminal.
    expect(finished.stderr).not.toContain("training.py");
    expect(finished.stderr).toMatch(/^=> num_workers=/m);
    await expectNothingLeft(finished);
  });

  it("at Ctrl-C before there is a result", async () => {
    const run = await signalled("SIGINT", atStart, [], { script: coldTraining });
    const { exitCode, stderr } = run;
    expect(exitCode, stderr).toBe(130);
    expect(stderr.match(/^pinbench: .*/gm)).toEqual([
      expect.stringContaining("pinbench: runs your command"),
      "pinbench: interrupted, nothing was measured.",
    ]);
    await expectNothingLeft(run);
  });

  it("with --go Ctrl-C goes to the restarted command, whose exit code is pinbench's", async () => {
    let isAfresh = false;
    const afresh: When = ({ mark, stderr }) => {
      if (isAfresh) return existsSync(mark);
      isAfresh = /is started afresh/.test(stderr);
      // The search has made it too. A Python that is still importing may end otherwise.
      if (isAfresh) rmSync(mark, { force: true });
      return false;
    };
    const flags = ["--go", "--budget", "1s"];
    const run = await signalled("SIGINT", afresh, [], { flags, script: coldTraining });
    const { exitCode, signal, stderr } = run;
    // Python ends by the signal itself, which a shell calls 130.
    expect({ exitCode, signal }, stderr).toEqual({ exitCode: 130, signal: null });
    await expectNothingLeft(run);
  });
});
