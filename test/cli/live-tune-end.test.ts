import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, watch } from "node:fs";
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

it.concurrent("with --go a Ctrl-C that comes before the command runs is not lost", async () => {
  const temporary = folder();
  // The folder of its socket is made right before.
  const watcher = watch(temporary);
  const { child, finished } = startTune(["sleep", "50"], ["--go"], temporary);
  await once(watcher, "change");
  watcher.close();
  child.kill("SIGINT");
  expect((await finished).exitCode).toBe(130);
});

describe.concurrent("a job leaves nothing behind", { timeout: 120_000 }, () => {
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
  const inSearch: When = ({ stderr }) => /batches\/s, waits/.test(stderr);

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
    // The loop ended at its next batch: Python has nothing to report.
    expect(finished.stderr).not.toContain("Traceback");
    expect(finished.stderr).toMatch(/^=> num_workers=/m);
    await expectNothingLeft(finished);
  });

  it("at Ctrl-C before there is anything to say", async () => {
    const run = await signalled("SIGINT", atStart, [], { script: coldTraining });
    const { exitCode, stderr } = run;
    expect(exitCode, stderr).toBe(130);
    expect(stderr.match(/^pinbench: .*/gm)).toEqual(["pinbench: interrupted, nothing was measured."]);
    await expectNothingLeft(run);
  });

  it("with --go Ctrl-C is the command's, and so is what comes of it", async () => {
    const run = await signalled("SIGINT", atFirstStep, [], { flags: ["--go"], script: coldTraining });
    const { exitCode, signal, stderr } = run;
    expect(stderr).toContain("KeyboardInterrupt");
    // Python ends by the signal itself, which a shell calls 130.
    expect({ exitCode, signal }).toEqual({ exitCode: 130, signal: null });
    await expectNothingLeft(run);
  });
});
