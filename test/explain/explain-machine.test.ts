import { describe, expect, it } from "vitest";
import { PinbenchError } from "../../src/errors.js";
import {
  explainMachine,
  keepContexts,
  openDevices,
  toolsOn,
  wholeResult,
} from "../../src/explain/experiment-tools.js";
import { explanationSchema } from "../../src/explain/explanation.js";
import {
  type Answer,
  commandOf,
  explainCommand,
  type Question,
  type Tools,
} from "../../src/explain/question.js";
import { questions, questionsNamed } from "../../src/explain/questions.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { type QuestionName, questionNames } from "../../src/settings/choices.js";
import { callCli } from "../helpers/in-process.js";
import { buildDocument, defaultSweepCells } from "../helpers/result-document.js";

/* Questions that are made up, of an emulated device. */

const answered: Answer = { verdict: "true", figures: [], sentences: ["So it is."], command: "pinbench run" };

const question = (answer: Question["answer"], part: Partial<Question> = {}): Question => ({
  name: "why-pinned",
  title: "why?",
  claim: "Because.",
  needs: "device",
  // A busy machine takes longer for a run of one cell.
  mostMs: 50_000,
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
  } = {},
) {
  prepared ??= await openDevices({ backend: "emulated", devices: "all" });
  // It began some seconds ago.
  const call = { startedAt: new Date(), startedMs: performance.now() - 5000 };
  const bench = { prepared, sharing: null, settings: { ...settings, python }, signal, onActivity };
  return explanationSchema.parse(await explainMachine({ questions: asked, ...bench, ...call }));
}

describe("explaining a machine", () => {
  it("answers in order, and says that an emulated device is no GPU", async () => {
    const second = question(async () => answered, { name: "overlap" });
    const document = await explained([question(async () => answered), second]);
    expect(document.answers.map((answer) => answer.question)).toEqual(["why-pinned", "overlap"]);
    expect(document.answers[0]).toMatchObject({ ...answered, parts: [], failure: null });
    expect(document.notice).toContain("not a GPU");
    expect(document.devices).toHaveLength(1);
    expect(document.asked).toEqual(["why-pinned", "overlap"]);
    expect(document.wallNs).toBeGreaterThanOrEqual(5e9);
  });

  it("cannot tell where a question fails, says why and what to do, and goes on", async () => {
    const failing = question(async () => {
      throw new PinbenchError("limit", "the plan does not fit", { hint: "Take less." });
    });
    const { answers } = await explained([failing, question(async () => answered)]);
    expect(answers.map(({ verdict }) => verdict)).toEqual(["inconclusive", "true"]);
    expect(answers[0]).toMatchObject({
      failure: "The plan does not fit. Take less.",
      sentences: ["The plan does not fit. Take less."],
      command: "pinbench explain why-pinned --backend emulated",
    });
  });

  it.each([
    [new Error("cuMemHostAlloc failed"), "cuMemHostAlloc failed."],
    [new Error("the GPU is gone!"), "The GPU is gone!"],
    ["nothing works", "Nothing works."],
  ])("puts any failure into a sentence: %s", async (error, failure) => {
    const { answers } = await explained([question(() => Promise.reject(error))]);
    expect(answers[0]!.failure).toBe(failure);
  });

  it("asks torch of the Python that the caller names", async () => {
    const named = question(async ({ torch }) => ({ ...answered, command: torch.python }));
    const { answers } = await explained([named], undefined, { python: "/an environment/python3" });
    expect(answers[0]!.command).toBe("/an environment/python3");
  });

  it("takes the devices that are chosen, by their numbers", async () => {
    const args = ["explain", "several-gpus", "--backend", "emulated", "--device", "1", "--json"];
    const { stdout } = await callCli(args, { env: { PINBENCH_EMULATED_DEVICES: "2" } });
    const { devices } = explanationSchema.parse(JSON.parse(stdout));
    expect(devices.map(({ ordinal }) => ordinal)).toEqual([1]);
  });

  it("says which question it is at, and what that does", async () => {
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

  it("ends what takes too long, even if that does not listen", async () => {
    const listening = ({ signal }: Tools) =>
      new Promise<Answer>((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("cut short")));
      });
    const deaf = () => new Promise<Answer>(() => undefined);
    const { answers } = await explained([
      question(listening, { mostMs: 10 }),
      question(deaf, { mostMs: 10 }),
      question(async () => answered),
    ]);
    const tooLong = { verdict: "inconclusive", failure: "It took longer than its limit of 10 ms." };
    expect(answers).toMatchObject([tooLong, tooLong, { verdict: "true" }]);
    expect(answers[1]!.wallNs).toBeGreaterThanOrEqual(10e6);
  });

  it("stops where it is interrupted, with the answers that it has", async () => {
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
      question(async ({ run, commandFor }) => {
        const { cells } = await run({ ...small, directions: ["h2d"] });
        return { ...answered, sentences: [`${cells.length} cell`], command: commandFor(small) };
      }),
      question(async ({ run }) => {
        await run({ ...small, sizesBytes: [2 ** 46] });
        return answered;
      }),
    ]);
    expect(answers[0]).toMatchObject({
      sentences: ["1 cell"],
      command: "pinbench run --backend emulated --sizes 4KiB --memory pinned --workers 1 --samples 6",
    });
    expect(answers[1]!.failure).toContain("larger than the");
  });
});

describe("sessions on devices", () => {
  /** Devices of which the second cannot be opened, and what was asked of the sessions on the others. */
  async function playedDevices() {
    const { backend, devices } = await openDevices({ backend: "emulated", devices: "all" });
    const asked: string[] = [];
    const openSession = async ({ device }: { device: number }) => {
      if (device === 1) throw new Error("the device is in use");
      return {
        abort: () => asked.push(`abort ${device}`),
        close: async () => asked.push(`close ${device}`),
      };
    };
    const played = { ...backend, driver: { ...backend.driver, openSession } } as unknown as typeof backend;
    return { asked, backend: played, devices: [0, 1, 2].map((ordinal) => ({ ...devices[0]!, ordinal })) };
  }

  it("of a question are closed after its work, also if that fails, and ended by its signal only meanwhile", async () => {
    const { asked, ...prepared } = await playedDevices();
    const controller = new AbortController();
    const { signal } = controller;
    const bench = { prepared, sharing: null, settings, torch: null!, onActivity: () => undefined };
    const { inSession } = toolsOn(bench, signal);
    expect(await inSession(async () => "done")).toBe("done");
    const failing = inSession(async () => {
      controller.abort();
      throw new Error("it broke");
    });
    await expect(failing).rejects.toThrow("it broke");
    expect(asked).toEqual(["close 0", "abort 0", "close 0"]);
    // After the signal there is no work.
    const late = inSession(async () => asked.push("work"));
    await expect(late).rejects.toBe(signal.reason);
    expect(asked.slice(3)).toEqual(["close 0"]);
  });

  it("keep the contexts of those devices that can be opened, until they are released", async () => {
    const { asked, backend, devices } = await playedDevices();
    const release = await keepContexts(backend, devices);
    expect(asked).toEqual([]);
    await release();
    expect(asked).toEqual(["close 0", "close 2"]);
  });

  it.each<[string, Question["needs"][], string[]]>([
    ["no device for questions about torch", ["torch"], []],
    ["one for those about one", ["torch", "device"], ["close 0"]],
    ["all for those about several", ["device", "devices"], ["close 0", "close 2"]],
  ])("are kept open of %s", async (_, needs, closed) => {
    const { asked, ...prepared } = await playedDevices();
    const meanwhile: string[] = [];
    const answer = async () => {
      meanwhile.push(...asked);
      return answered;
    };
    const { devices } = await explained(
      needs.map((each) => question(answer, { needs: each })),
      undefined,
      { prepared },
    );
    expect(meanwhile).toEqual([]);
    expect(asked).toEqual(closed);
    expect(devices.map(({ ordinal }) => ordinal)).toEqual([0, 1, 2]);
  });

  it("are none without a device", async () => {
    const { asked: _, ...prepared } = await playedDevices();
    const without = { ...prepared, devices: [] };
    const { inSession } = toolsOn(
      { prepared: without, sharing: null, settings, torch: null!, onActivity: () => undefined },
      new AbortController().signal,
    );
    await expect(inSession(async () => "done")).rejects.toMatchObject({ kind: "unavailable" });
  });
});

describe("a result that figures are taken of", () => {
  const withCell = (part: Partial<CellResult>) =>
    buildDocument({ cells: defaultSweepCells().map((cell, i) => (i === 0 ? { ...cell, ...part } : cell)) });
  const failure = {
    code: "CUDA_ERROR_UNKNOWN",
    message: "the copy failed",
    call: null,
    location: null,
    sticky: false,
  };

  it("is whole, and nothing in it failed or came back wrong", () => {
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

describe("the command that repeats an experiment", () => {
  it("is one that pinbench takes", async () => {
    const command = commandOf(
      {
        devices: [0],
        sizesBytes: [40e6, 2 ** 20],
        memory: ["pageable", "pinned"],
        directions: ["h2d"],
        workers: [1],
        pipelineChunks: [1, 8],
        budgetNs: 1.5e9,
      },
      true,
    );
    expect(command).toContain("--sizes 40MB,1MiB --memory pageable,pinned");
    expect(command).toContain("--budget 1.5s");
    const [, ...args] = command.split(" ");
    expect(await callCli([...args, "--dry-run", "--quiet"])).toMatchObject({ exitCode: 0, stderr: "" });
  });

  it("has the device that the caller chose, unless the experiment sets its own", async () => {
    const { backend, devices } = await openDevices({ backend: "emulated", devices: "all" });
    const prepared = { backend, devices: [1, 2].map((ordinal) => ({ ...devices[0]!, ordinal })) };
    const bench = { prepared, sharing: null, torch: null!, settings, onActivity: () => undefined };
    const { commandFor } = toolsOn(bench, new AbortController().signal);
    const begin = "pinbench run --backend emulated";
    expect(commandFor({ workers: [1] })).toBe(`${begin} --device 1 --workers 1`);
    expect(commandFor({ devices: [1, 2], together: true })).toBe(`${begin} --device 1,2 --together`);
  });

  it("asks all devices again for a question about several", () => {
    const tools = {
      backend: { name: "cuda" },
      devices: [{ ordinal: 1 }],
      torch: { python: "python3" },
    } as const;
    const again = (name: QuestionName, needs: Question["needs"]) =>
      explainCommand({ name, needs }, tools as unknown as Parameters<typeof explainCommand>[1]);
    expect(again("several-gpus", "devices")).toBe("pinbench explain several-gpus --device all");
    expect(again("overlap", "device")).toBe("pinbench explain overlap --device 1");
  });
});

describe("the questions", () => {
  it("have names, claims and limits of their own", () => {
    expect(new Set(questions.map(({ name }) => name)).size).toBe(questions.length);
    for (const { title, claim, mostMs } of questions) {
      expect(title).toMatch(/^[a-z].*\?$/);
      expect(claim).toMatch(/^[A-Z].*\.$/);
      expect(mostMs).toBeLessThanOrEqual(30_000);
    }
  });

  it("are asked in the report's order, however they are named", () => {
    const names = (asked: readonly string[] | "all") => questionsNamed(asked).map(({ name }) => name);
    expect(names(["overlap", "why-pinned"])).toEqual(["why-pinned", "overlap"]);
    expect(names("all")).toEqual(questionNames);
    expect(() => names(["why"])).toThrow(expect.objectContaining({ kind: "usage" }));
  });

  it("about several GPUs says that there is one", async () => {
    const several = questions.filter(({ name }) => name === "several-gpus");
    expect((await explained(several)).answers).toMatchObject([
      {
        verdict: "inconclusive",
        failure: null,
        sentences: [expect.stringContaining("There is one device")],
      },
    ]);
  });
});
