import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { describeExit } from "../../../src/host/child.js";
import type { Exit } from "../../../src/host/python/python-process.js";
import { usualSetting } from "../../../src/results/loader-setting.js";
import { completeFailure, deathFailure, hangOf } from "../../../src/tune/torch/torch-failures.js";
import type { ProbeProcess } from "../../../src/tune/torch/torch-messages.js";
import { failureOf } from "../../helpers/tune.js";

/* Reports on a Python program that hangs or ends. */

vi.mock("node:timers/promises", () => ({ setTimeout: async () => undefined }));

const two = usualSetting(2, false);
const exit = (changes: Partial<Exit>): Exit => ({ code: null, signal: null, error: null, ...changes });
const said = (stderrTail: string | null) => ({ stderrTail }) as ProbeProcess;

/** A thread's stack as faulthandler writes it, innermost first. */
const stackOf = (...frames: [file: string, line: number, name: string][]) =>
  frames.map(([file, line, name]) => `  File "${file}", line ${line} in ${name}\n`).join("");
const torch = "/usr/lib/python3/dist-packages/torch/utils/data.py";

describe("a program that ended", () => {
  it.each([
    [{ code: 3 }, "ended with exit code 3", /^The data set, or a library that it uses, ended the process\.$/],
    [{ signal: "SIGSEGV" }, "was killed (SIGSEGV)", /^A library that the data set uses crashed\.$/],
    [{ signal: "SIGKILL" }, "was killed (SIGKILL)", /^Most likely memory ran out/],
  ] as const)("by %o is reported with what to do", (changes, how, hint) => {
    const failure = deathFailure(said("the last words"), exit(changes), two);
    expect(failure).toMatchObject({ fault: "probe-died", traceback: "the last words", everywhere: false });
    expect(failure.message).toBe(`The Python process ${how} with 2 workers, not pinned.`);
    expect(failure.hint).toMatch(hint);
    expect(describeExit(exit(changes))).toBe(how);
  });

  it("by a crash is reported with the user's place in the thread that crashed last", () => {
    const other = `Thread 0x1 (most recent call first):\n${stackOf(["/home/me/other.py", 1, "wait"])}`;
    const crash = (line: number) =>
      "Fatal Python error: Segmentation fault\n\nCurrent thread 0x2 (most recent call first):\n" +
      stackOf(
        [torch, 9, "fetch"],
        [join(process.cwd(), "data.py"), line, "read"],
        ["/home/me/main.py", 4, "main"],
      ) +
      `\n${other}`;
    const failure = deathFailure(said(`${crash(5)}\n${crash(17)}`), exit({ signal: "SIGSEGV" }), two);
    expect(failure.message).toMatch(/ with 2 workers, not pinned, at data\.py:17, in read\.$/);
    // Outermost first, as Python has it, without what the user cannot change.
    expect(failure.traceback).toBe(
      `  File "/home/me/main.py", line 4, in main\n  File "${join(process.cwd(), "data.py")}", line 17, in read`,
    );
  });
});

describe("a program that hangs", () => {
  /** What processes write of their stacks when they are asked to. */
  function hanging(stacks: Record<string, string>, stderrTail: string | null = "the last words") {
    const scratch = mkdtempSync(join(tmpdir(), "pinbench-stacks-"));
    onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
    const signalAll = (signal: string) => {
      if (signal !== "SIGUSR2") throw new Error(signal);
      for (const [name, text] of Object.entries(stacks)) writeFileSync(join(scratch, name), text);
    };
    return { scratch, signalAll, stderrTail } as unknown as ProbeProcess;
  }
  const told = { batches: 4, timeoutNs: 2.5e9 };

  it("is reported with its place in a worker, and in the main process if there is none", async () => {
    const main = stackOf([torch, 1, "next"], ["/home/me/main.py", 3, "loop"]);
    const worker = stackOf(["/home/me/data.py", 8, "lock"]);
    const stacks = {
      "main-1.stack": main,
      "worker-2.stack": worker,
      "worker-1.stack": stackOf([torch, 1, "x"]),
    };
    const failure = await hangOf(hanging({ ...stacks, notes: worker }), two, told);
    expect(failure).toMatchObject({ fault: "hang", everywhere: false });
    expect(failure.message).toBe(
      "No further batch came within 2.5 s with 2 workers, not pinned, which hangs at /home/me/data.py:8, in lock.",
    );
    expect(failure.traceback).toBe('  File "/home/me/data.py", line 8, in lock');
    const inMain = await hangOf(hanging({ "main-1.stack": main }), two, told);
    expect(inMain.message).toContain("/home/me/main.py:3, in loop");
  });

  it("is reported with its last stderr lines if no code line is known", async () => {
    const none = { ...told, batches: 0 };
    const failure = await hangOf(hanging({ "main-1.stack": stackOf([torch, 1, "x"]) }), two, none);
    expect(failure.message).toBe("No batch came within 2.5 s with 2 workers, not pinned.");
    expect(failure).toMatchObject({
      traceback: "the last words",
      hint: expect.stringContaining("were forked"),
    });
    const inProcess = await hangOf(hanging({}, null), usualSetting(0, false), none);
    expect(inProcess).toMatchObject({
      traceback: null,
      hint: "If a batch or a step really takes this long, use --timeout 5s.",
    });
  });
});

it("only a killed worker is reported with the program's last output, unless there is a traceback", () => {
  const killed = failureOf("worker-killed", { hint: "Why.", everywhere: true });
  expect(completeFailure(killed, "out of memory")).toEqual({ ...killed, traceback: "out of memory" });
  expect(completeFailure({ ...killed, traceback: "a.py" }, "x").traceback).toBe("a.py");
  expect(completeFailure(failureOf("hang"), "out of memory").traceback).toBeNull();
});
