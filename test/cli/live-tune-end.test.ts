import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
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

/** The command line of a process; empty if there is none with this id. */
function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

describe.concurrent("a training job under pinbench tune", () => {
  skipWithoutTorch();

  /** Signals pinbench once `when` holds. */
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
      name: "in the search, with spawned workers",
      when: inSearch,
      args: ["--workers", "1", "--start-method", "spawn"],
    },
  ])("leaves nothing behind if pinbench is killed: $name", async ({ when, args }) => {
    const run = await signalled("SIGKILL", when, args, { script: coldTraining });
    expect(run.signal).toBe("SIGKILL");
    await expectNothingLeft(run);
  });

  it("leaves no process behind, even one with its own session and no environment", async () => {
    const hidden = `sleep ${1e6 + process.pid}`;
    const job = `setsid env -i ${hidden} & exec env -i ${hidden}`;
    const running = () =>
      readdirSync("/proc")
        .map((pid) => commandLine(pid))
        .filter((line) => line.includes(hidden));
    const { exitCode } = await tune(["sh", "-c", job], "--timeout", "250ms");
    expect(exitCode).toBe(4);
    expect(running()).toEqual([]);
    const areBothThere: When = () => running().filter((line) => line.startsWith(hidden)).length === 2;
    await signalled("SIGKILL", areBothThere, [], { script: () => ["sh", "-c", job] });
    await vi.waitFor(() => expect(running()).toEqual([]), { timeout: 60_000 });
  });

  it.each([
    { signal: "SIGINT", exitCode: 130, script: coldTraining },
    { signal: "SIGTERM", exitCode: 143, script: training },
  ] as const)("leaves nothing behind after $signal but its results", async ({ signal, exitCode, script }) => {
    const finished = await signalled(signal, inSearch, ["--workers", "1"], {
      script,
    });
    expect(finished.exitCode, finished.stderr).toBe(exitCode);
    expect(finished.stderr).toContain("! interrupted: these results were measured before that\n");
    // The hook hides the traceback of the script.
    expect(finished.stderr).not.toContain("training.py");
    expect(finished.stderr).toMatch(/^=> num_workers=/m);
    await expectNothingLeft(finished);
  });

  it("leaves nothing behind after Ctrl-C before the first result", async () => {
    const run = await signalled("SIGINT", atStart, [], { script: coldTraining });
    const { exitCode, stderr } = run;
    expect(exitCode, stderr).toBe(130);
    expect(stderr.match(/^pinbench: .*/gm)).toEqual([
      expect.stringContaining("pinbench: runs your command"),
      "pinbench: interrupted, nothing was measured.",
    ]);
    await expectNothingLeft(run);
  });

  it("that --go has restarted gets Ctrl-C, and leaves nothing behind", async () => {
    let isAfresh = false;
    const afresh: When = ({ mark, stderr }) => {
      if (isAfresh) return existsSync(mark);
      isAfresh = /is started afresh/.test(stderr);
      // The search made this file as well. A Python that is still importing may end with another code.
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
