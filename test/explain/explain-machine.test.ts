import { describe, expect, it } from "vitest";
import { PinbenchError } from "../../src/errors.js";
import { explainMachine, openDevices, wholeResult } from "../../src/explain/explain-machine.js";
import { explanationSchema } from "../../src/explain/explanation.js";
import type { Answer, Question, Tools } from "../../src/explain/question.js";
import { questions, questionsNamed } from "../../src/explain/questions.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { questionNames } from "../../src/settings/choices.js";
import { callCli } from "../helpers/in-process.js";
import { buildDocument, sweepCells } from "../helpers/result-document.js";

/* Made-up questions on an emulated device. */

const answered: Answer = { holds: true, figures: [], summary: "So it is." };

const question = (answer: Question["answer"], part: Partial<Question> = {}): Question => ({
  name: "why-pinned",
  title: "why?",
  claim: "Because.",
  needs: "device",
  answer,
  ...part,
});

type Prepared = Pick<Awaited<ReturnType<typeof openDevices>>, "backend" | "devices">;

const settings = { backend: "emulated", python: null } as const;

async function explained(
  asked: readonly Question[],
  signal = new AbortController().signal,
  {
    onActivity = (_text: string): unknown => undefined,
    prepared = null as Prepared | null,
    python = null as string | null,
    // A busy machine takes long for a run of one cell.
    mostMs = 50_000,
  } = {},
) {
  prepared ??= await openDevices({ backend: "emulated", devices: "all" });
  // It began some seconds ago.
  const call = { startedAt: new Date(), startedMs: performance.now() - 5000 };
  const bench = { prepared, sharing: null, settings: { ...settings, python }, signal, onActivity };
  return explanationSchema.parse(await explainMachine({ questions: asked, mostMs, ...bench, ...call }));
}

describe("explaining a machine", () => {
  it("answers in order, and says that an emulated device is no GPU", async () => {
    const second = question(async () => answered, { name: "overlap" });
    const document = await explained([question(async () => answered), second]);
    expect(document.answers.map((answer) => answer.question)).toEqual(["why-pinned", "overlap"]);
    expect(document.answers[0]).toMatchObject({ verdict: "true", summary: "So it is.", failure: null });
    expect(document.notice).toContain("not a GPU");
    expect(document.devices).toHaveLength(1);
    expect(document.asked).toEqual(["why-pinned", "overlap"]);
    expect(document.wallNs).toBeGreaterThanOrEqual(5e9);
  });

  it("calls a question that fails inconclusive, with the reason and what to do, and asks the next one", async () => {
    const failing = question(async () => {
      throw new PinbenchError("limit", "the plan does not fit", { hint: "Take less." });
    });
    const { answers } = await explained([failing, question(async () => answered)]);
    expect(answers.map(({ verdict }) => verdict)).toEqual(["inconclusive", "true"]);
    expect(answers[0]).toMatchObject({
      failure: "The plan does not fit. Take less.",
      summary: "The plan does not fit. Take less.",
    });
  });

  it.each([
    [new Error("cuMemHostAlloc failed"), "cuMemHostAlloc failed."],
    [new Error("the GPU is gone!"), "The GPU is gone!"],
    ["nothing works", "Nothing works."],
  ])("reports any failure in a sentence: %s", async (error, failure) => {
    const { answers } = await explained([question(() => Promise.reject(error))]);
    expect(answers[0]!.failure).toBe(failure);
  });

  it("marks a question as not run, not as failed, if the machine lacks something", async () => {
    const lacking = question(() => Promise.reject(new PinbenchError("unavailable", "There is no torch.")));
    const { answers } = await explained([lacking]);
    const lack = { verdict: "not run", failure: null, hasWrongData: false };
    expect(answers).toMatchObject([{ ...lack, summary: "There is no torch." }]);
  });

  it("asks torch in the Python that the caller names", async () => {
    const named = question(async ({ torch }) => ({ ...answered, summary: torch.python }));
    const { answers } = await explained([named], undefined, { python: "/an environment/python3" });
    expect(answers[0]!.summary).toBe("/an environment/python3");
  });

  it("uses the devices that are chosen by their numbers", async () => {
    const args = ["explain", "several-gpus", "--backend", "emulated", "--device", "1", "--json"];
    const { stdout } = await callCli(args, { env: { PINBENCH_EMULATED_DEVICES: "2" } });
    const { devices } = explanationSchema.parse(JSON.parse(stdout));
    expect(devices.map(({ ordinal }) => ordinal)).toEqual([1]);
  });

  it("reports the current question and what it measures", async () => {
    const said: string[] = [];
    const small = { sizesBytes: [4096], memory: ["pinned"], directions: ["h2d"] } as const;
    const measuring = question(async ({ run }) => {
      await run({ ...small, workers: [1], samplesPerCell: 6 });
      return answered;
    });
    const { answers } = await explained(
      [question(async () => answered, { name: "overlap" }), measuring],
      undefined,
      {
        onActivity: (text) => said.push(text),
      },
    );
    expect(answers.map(({ failure }) => failure)).toEqual([null, null]);
    expect([...new Set(said)]).toEqual([
      "overlap (1 of 2)",
      "why-pinned (2 of 2)",
      "why-pinned (2 of 2): pinned copies of 4 KiB",
    ]);
  });

  it("ends a question that takes too long, even if it ignores the signal", async () => {
    const listening = ({ signal }: Tools) =>
      new Promise<Answer>((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("cut short")));
      });
    const deaf = () => new Promise<Answer>(() => undefined);
    const { answers } = await explained(
      [...[question(listening), question(deaf)], question(async () => answered)],
      undefined,
      { mostMs: 10 },
    );
    const tooLong = { verdict: "inconclusive", failure: "It took longer than its limit of 10 ms." };
    expect(answers).toMatchObject([tooLong, tooLong, { verdict: "true" }]);
    expect(answers[1]!.wallNs).toBeGreaterThanOrEqual(10e6);
  });

  it("stops when it is interrupted, with the answers so far", async () => {
    const controller = new AbortController();
    const interrupted = question(async ({ signal }) => {
      controller.abort();
      signal.throwIfAborted();
      return answered;
    });
    const { answers, asked } = await explained(
      [question(async () => answered), interrupted, question(async () => answered)],
      controller.signal,
    );
    expect([answers.length, asked.length]).toEqual([1, 3]);
  });

  it("measures as a run does, and fails a question if nothing can be planned", async () => {
    const small = { sizesBytes: [4096], memory: ["pinned"], workers: [1], samplesPerCell: 6 } as const;
    const { answers } = await explained([
      question(async ({ run }) => {
        const { cells } = await run({ ...small, directions: ["h2d"] });
        return { ...answered, summary: `${cells.length} cell` };
      }),
      question(async ({ run }) => {
        await run({ ...small, sizesBytes: [2 ** 46] });
        return answered;
      }),
    ]);
    expect(answers[0]).toMatchObject({ summary: "1 cell" });
    expect(answers[1]!.failure).toContain("above the limit");
  });
});

describe("a result that answers a question", () => {
  const withCell = (part: Partial<CellResult>) =>
    buildDocument({ cells: sweepCells().map((cell, i) => (i === 0 ? { ...cell, ...part } : cell)) });
  const failure = {
    code: "CUDA_ERROR_UNKNOWN",
    message: "the copy failed",
    call: null,
    location: null,
    sticky: false,
  };

  it("must be complete, without failed cells and wrong data", () => {
    const good = withCell({});
    expect(wholeResult(good)).toBe(good);
    expect(() => wholeResult(withCell({ outcome: "mismatch" }))).toThrow(
      expect.objectContaining({
        kind: "wrongData",
        message: expect.stringMatching(/^data came back wrong from d0\//),
      }),
    );
    expect(() => wholeResult(withCell({ outcome: "failed", error: failure }))).toThrow("the copy failed");
    const run = (part: Partial<ResultDocument["run"]>) => ({ ...good, run: { ...good.run, ...part } });
    expect(() => wholeResult(run({ status: "aborted" }))).toThrow("cut short");
    expect(() => wholeResult(run({ status: "failed", error: failure }))).toThrow("the copy failed");
  });
});

describe("the questions", () => {
  it("have unique names, and titles and claims in the same form", () => {
    expect(new Set(questions.map(({ name }) => name)).size).toBe(questions.length);
    for (const { title, claim } of questions) {
      expect(title).toMatch(/^[a-z].*\?$/);
      expect(claim).toMatch(/^[A-Z].*\.$/);
    }
  });

  it("are asked in the report's order, whatever order they are requested in", () => {
    const names = (asked: readonly string[] | "all") => questionsNamed(asked).map(({ name }) => name);
    expect(names(["overlap", "why-pinned"])).toEqual(["why-pinned", "overlap"]);
    expect(names("all")).toEqual(questionNames);
    expect(() => names(["why"])).toThrow(expect.objectContaining({ kind: "usage" }));
  });
});
