import { describe, expect, it } from "vitest";
import { PinbenchError } from "../../../src/errors.js";
import type { Tools } from "../../../src/explain/question.js";
import { answerOnGpu, answerWithTorch } from "../../../src/explain/torch/torch-answer.js";

const conclusion = { verdict: "true", figures: [], sentences: ["So it is."] } as const;
const usual = { torch: "2.11.0", python: "/usr/bin/python3", deviceName: "a GPU", gpuMissing: null };

/** Tools whose torch is played, and what it is said to do. */
function toolsWith(
  facts: Partial<Record<keyof typeof usual, string | null>>,
  measure = async (): Promise<unknown> => ({}),
) {
  const said: string[] = [];
  const torch = { python: "python3", facts: async () => ({ ...usual, ...facts }), measure };
  const tools = {
    backend: { name: "cuda" },
    devices: [],
    torch,
    onActivity: (text: string) => said.push(text),
  };
  return { said, tools: tools as unknown as Tools };
}

const answered = (tools: Tools) =>
  answerWithTorch(
    "overlap",
    tools,
    async () => ({ ...conclusion, sentences: [...conclusion.sentences] }) as never,
  );

describe("an answer of the user's torch", () => {
  it("says which torch it is, of which GPU, and what takes time meanwhile", async () => {
    const { said, tools } = toolsWith({});
    expect(await answered(tools)).toEqual({
      ...conclusion,
      sentences: ["So it is.", "Measured with torch 2.11.0 of /usr/bin/python3, on a GPU."],
      command: "pinbench explain overlap",
    });
    expect(said).toEqual(["torch is being imported", "torch measures"]);
    const without = await answered(toolsWith({ deviceName: null }).tools);
    expect(without.sentences.at(-1)).toBe("Measured with torch 2.11.0 of /usr/bin/python3.");
  });

  it("is the reason why something is missing, and no other failure", async () => {
    const failing = (error: Error) =>
      answerOnGpu("overlap", toolsWith({}, () => Promise.reject(error)).tools, "overlap", {} as never, () => {
        throw new Error("unreachable");
      });
    const unavailable = new PinbenchError("unavailable", "There is none.", { hint: "Get one." });
    expect(await failing(unavailable)).toMatchObject({
      ...{ verdict: "inconclusive", figures: [], sentences: ["There is none.", "Get one."] },
      command: "pinbench explain overlap",
    });
    expect((await failing(new PinbenchError("unavailable", "There is none."))).sentences).toEqual([
      "There is none.",
    ]);
    for (const error of [new PinbenchError("measurement", "It broke."), new Error("It broke.")]) {
      await expect(failing(error)).rejects.toBe(error);
    }
  });

  it("takes a GPU, and its options and figures are those of the experiment", async () => {
    const { tools } = toolsWith({ gpuMissing: "torch sees no GPU" });
    const { sentences } = await answerOnGpu(
      "overlap",
      tools,
      "overlap",
      {} as never,
      () => conclusion as never,
    );
    expect(sentences[0]).toBe("This needs a GPU, and torch sees no GPU.");
    const asked: unknown[] = [];
    const measuring = toolsWith({}, async (...call: unknown[]) => {
      asked.push(call.slice(0, 2));
      return "figures";
    });
    const options = { bytes: 1, rounds: 2 };
    const conclude = (figures: unknown) => ({ ...conclusion, sentences: [String(figures)] }) as never;
    const answer = await answerOnGpu("overlap", measuring.tools, "overlap", options, conclude);
    expect([answer.sentences[0], asked]).toEqual(["figures", [["overlap", options]]]);
  });
});
