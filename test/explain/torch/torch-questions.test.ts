import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { type Explanation, explanationSchema } from "../../../src/explain/explanation.js";
import { explainCommand } from "../../../src/explain/question.js";
import { readProcessStat } from "../../../src/host/processes.js";
import { callCli } from "../../helpers/in-process.js";
import { runCli, startCli } from "../../helpers/run-cli.js";
import { testPython } from "../../helpers/test-python.js";
import { expectNothingLeft, marked, marker } from "../../tune/torch/support.js";

/** A torch whose GPU and whose clock are played: figures are the same each time. */
const playedTorch = fileURLToPath(new URL("../../fixtures/explain", import.meta.url));

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

const sentencesOf = ({ sentences }: Explanation["answers"][number]) => sentences.join("\n");

const onGpu = ["pinned-in-a-class", "loader-pin-memory", "non-blocking", "torch-rounds-up"];

it("each question is answered by what the user's torch measures", async () => {
  const { exitCode, answers } = await answersTo(onGpu);
  expect(exitCode).toBe(0);
  expect(answers.map(({ question, verdict }) => [question, verdict])).toEqual([
    ["pinned-in-a-class", "true"],
    ["loader-pin-memory", "not here"],
    ["non-blocking", "not here"],
    ["torch-rounds-up", "true"],
  ]);
  expect(answers.map(({ figures }) => figures.length)).toEqual([9, 6, 13, 4]);
  for (const answer of answers) {
    expect(sentencesOf(answer)).toContain(`Measured with torch 2.11.0 of ${testPython}, on a GPU`);
  }
});

it("another behaviour turns the verdicts round", async () => {
  const { answers } = await answersTo(["pinned-in-a-class", "non-blocking"], "arrives-pinned one-engine");
  expect(answers.map(({ verdict }) => verdict)).toEqual(["not here", "not here"]);
  expect(answers[1]?.parts.map(({ verdict }) => verdict)).toEqual(Array(4).fill("not here"));
});

describe("is inconclusive, and that is no failure,", () => {
  it("what takes a GPU if torch has none; what does not is measured all the same", async () => {
    const { exitCode, answers } = await answersTo(onGpu, "no-gpu");
    expect(exitCode).toBe(0);
    for (const answer of answers) {
      expect(answer).toMatchObject({ verdict: "inconclusive", failure: null });
      expect(sentencesOf(answer)).toContain(
        `This needs a GPU, and torch 2.11.0 of ${testPython} sees no GPU.\nName a Python whose torch has CUDA with --python.`,
      );
    }
    expect(answers.map(({ figures }) => figures.length)).toEqual([0, 1, 0, 0]);
  });

  it("what takes more shared memory than there is", async () => {
    const { exitCode, answers } = await answersTo(["pinned-in-a-class"], "no-shared-memory");
    expect(exitCode).toBe(0);
    expect(answers[0]).toMatchObject({ verdict: "inconclusive", failure: null });
    expect(sentencesOf(answers[0]!)).toBe(
      "Torch sends tensors through /dev/shm, which has only 240 KiB free.\nA container gets more with --shm-size.",
    );
  });

  it("what takes torch if there is none", async () => {
    const { exitCode, answers } = await answersTo([...onGpu, "too-many-workers"], "", {
      python: "/nowhere/the user's python",
    });
    expect(exitCode).toBe(0);
    for (const answer of answers) {
      expect(answer).toMatchObject({ verdict: "inconclusive", figures: [], failure: null });
      expect(sentencesOf(answer)).toBe(
        "There is no /nowhere/the user's python.\nName the Python of the training's environment with --python.",
      );
    }
  });
});

it("a process that ends in the middle fails its question, and the next one is answered", async () => {
  const { exitCode, answers } = await answersTo(["pinned-in-a-class", "loader-pin-memory"], "child-dies", {
    call: runCli,
  });
  expect(exitCode).toBe(4);
  expect(answers.map(({ verdict }) => verdict)).toEqual(["inconclusive", "not here"]);
  expect(answers[0]?.failure).toBe("The process that the tensors were sent to ended (exit code 9).");
});

it.each([
  ["python3", 0, "cuda", "pinbench explain non-blocking"],
  ["/opt/env/bin/python", 1, "cuda", "pinbench explain non-blocking --device 1 --python /opt/env/bin/python"],
  [
    "/the user's/python",
    0,
    "emulated",
    `pinbench explain non-blocking --backend emulated --python '/the user'\\''s/python'`,
  ],
] as const)(
  "the command to repeat it names %s, device %i and backend %s if it has to",
  (python, ordinal, backend, command) => {
    const tools = { backend: { name: backend }, devices: [{ ordinal }], torch: { python } };
    const asked = { name: "non-blocking", needs: "torch" } as const;
    expect(explainCommand(asked, tools as Parameters<typeof explainCommand>[1])).toBe(command);
  },
);

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
] as const)("%s in the middle of an experiment leaves nothing of it behind", async (signal, exitCode) => {
  const { child, finished } = await inTheMiddle();
  child.kill(signal);
  expect((await finished).exitCode).toBe(exitCode);
  await expectNothingLeft();
});

it("nothing is left behind if torch is killed in the middle of an experiment", async () => {
  const { child, finished } = await inTheMiddle();
  const python = marked().find((pid) => isShared(pid) && readProcessStat(pid)?.parent === child.pid);
  process.kill(python!, "SIGKILL");
  expect((await finished).exitCode).toBe(4);
  await expectNothingLeft();
});
