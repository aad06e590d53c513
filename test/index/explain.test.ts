import { describe, expect, it } from "vitest";
import { explanationSchema } from "../../src/explain/explanation.js";
import { type ExplainOptions, explain } from "../../src/index.js";

const small: ExplainOptions = { backend: "emulated", llc: "1MiB", questions: ["several-gpus"] };

describe("explain() of the library", () => {
  it("returns the document that --json prints", async () => {
    const document = await explain(small);
    expect(explanationSchema.parse(document)).toEqual(document);
    expect(document).toMatchObject({ kind: "explanation", backend: "emulated" });
    expect(document.answers.map(({ question }) => question)).toEqual(["several-gpus"]);
  });

  it("has no answers if it is aborted before the first", async () => {
    expect((await explain({ ...small, signal: AbortSignal.abort() })).answers).toEqual([]);
  });

  it("says what is wrong with an option", async () => {
    const misspelt = { ...small, fast: true } as ExplainOptions;
    await expect(explain(misspelt)).rejects.toMatchObject({
      kind: "usage",
      hint: "The options are backend, device, python, llc.",
    });
    const unknown = { ...small, questions: ["why"] } as unknown as ExplainOptions;
    await expect(explain(unknown)).rejects.toMatchObject({ kind: "usage" });
    const mixed = { ...small, questions: ["several-gpus", 7] } as unknown as ExplainOptions;
    await expect(explain(mixed)).rejects.toThrow('must be "all" or a list of names');
    const none = {} as ExplainOptions;
    await expect(explain(none)).rejects.toThrow('must be "all" or a list of names');
  });
});
