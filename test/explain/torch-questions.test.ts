import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import { type Explanation, explanationSchema } from "../../src/explain/explanation.js";
import { readProcessStat } from "../../src/host/processes.js";
import { callCli } from "../helpers/in-process.js";
import { runCli, startCli } from "../helpers/run-cli.js";
import { testPython } from "../helpers/test-python.js";
import { expectNothingLeft, marked, marker } from "../tune/torch/support.js";

/** A torch whose GPU and whose clock are played: figures are the same each time. */
const playedTorch = fileURLToPath(new URL("../fixtures/explain", import.meta.url));

/** Whatever is started has it, so that it can be found. */
const markedBy = Object.fromEntries([marker.split("=")]);

/**
 * What `explain` answers to these questions, by the played torch as `words` have it behave. One that fails has `explain` end its
 * process by force, which must then be one of its own.
 */
async function answersTo(
  questions: readonly string[],
  words = "",
  { python = testPython, call = callCli as typeof runCli } = {},
) {
  const args = ["explain", ...questions, "--backend", "emulated", "--python", python, "--json"];
  const env = { PYTHONPATH: playedTorch, FAKE_TORCH: words, ...markedBy };
  const { stdout, exitCode } = await call(args, { env });
  const { answers }: Explanation = explanationSchema.parse(JSON.parse(stdout));
  await expectNothingLeft();
  return { exitCode, answers };
}

const onGpu = [
  ...["pinned-in-a-class", "loader-pin-memory", "pinning-in-the-loop", "converting-copy"],
  ...["non-blocking", "forgotten-pageable"],
];

it("each question is answered by what the user's torch measures", async () => {
  const { exitCode, answers } = await answersTo(onGpu);
  expect(exitCode).toBe(0);
  expect(answers.map(({ question, verdict }) => [question, verdict])).toEqual([
    ["pinned-in-a-class", "true"],
    ["loader-pin-memory", "not here"],
    ["pinning-in-the-loop", "not here"],
    ["converting-copy", "true"],
    ["non-blocking", "not here"],
    ["forgotten-pageable", "true"],
  ]);
  for (const { summary, figures } of answers) {
    expect(summary).toContain(`(torch 2.11.0 of ${testPython}, on a GPU`);
    expect(figures.length).toBeGreaterThan(4);
  }
});

it("a torch that behaves otherwise reverses the verdicts", async () => {
  const asked = ["pinned-in-a-class", "converting-copy", "forgotten-pageable"];
  const { answers } = await answersTo(asked, "arrives-pinned slow-kernels waits");
  expect(answers.map(({ verdict }) => verdict)).toEqual(["not here", "not here", "not here"]);
});

it("without a GPU or torch a question is not run, and that is no failure", async () => {
  const { exitCode, answers } = await answersTo(onGpu, "no-gpu");
  expect(exitCode).toBe(0);
  const lack = { verdict: "not run", failure: null, figures: [] };
  const summary = `This needs a GPU, and torch 2.11.0 of ${testPython} sees no GPU. Name a Python whose torch has CUDA with --python.`;
  expect(answers).toMatchObject(onGpu.map(() => ({ ...lack, summary })));
  const none = await answersTo(["too-many-workers"], "", { python: "/nowhere/the user's python" });
  expect(none.answers).toMatchObject([
    {
      ...lack,
      summary:
        "There is no /nowhere/the user's python. Name the Python of the training's environment with --python.",
    },
  ]);
});

it("a process that ends early fails its question, and the next one is answered", async () => {
  const { exitCode, answers } = await answersTo(["pinned-in-a-class", "loader-pin-memory"], "child-dies", {
    call: runCli,
  });
  expect(exitCode).toBe(4);
  expect(answers.map(({ verdict }) => verdict)).toEqual(["inconclusive", "not here"]);
  expect(answers[0]?.failure).toContain("BrokenProcessPool");
});

const isShared = (pid: number) => existsSync(`/dev/shm/torch_${pid}_1234_0`);

/** Starts an experiment whose second process hangs, and waits until both have shared memory that still has its name. */
async function inTheMiddle() {
  const args = ["explain", "pinned-in-a-class", "--backend", "emulated", "--python", testPython];
  const env = { PYTHONPATH: playedTorch, FAKE_TORCH: "child-hangs", ...markedBy };
  const { child, finished } = startCli(args, { env });
  await vi.waitFor(() => expect(marked().filter(isShared)).toHaveLength(2), { timeout: 30_000 });
  return { child, finished };
}

it.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGKILL", null],
] as const)(
  "%s in the middle of an experiment leaves no process or file behind",
  async (signal, exitCode) => {
    const { child, finished } = await inTheMiddle();
    child.kill(signal);
    expect((await finished).exitCode).toBe(exitCode);
    await expectNothingLeft();
  },
);

it("no process or file is left behind if torch is killed in the middle of an experiment", async () => {
  const { child, finished } = await inTheMiddle();
  const python = marked().find((pid) => isShared(pid) && readProcessStat(pid)?.parent === child.pid);
  process.kill(python!, "SIGKILL");
  expect((await finished).exitCode).toBe(4);
  await expectNothingLeft();
});
