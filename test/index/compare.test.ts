import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { comparisonSchema } from "../../src/compare/comparison.js";
import { compare, PinbenchError } from "../../src/index.js";
import { temporaryFolder } from "../helpers/run-cli.js";
import { buildRuns } from "../helpers/runs.js";

const before = buildRuns({ seed: 1 });
const after = buildRuns({ seed: 2, speed: 0.8 }).map((document) => ({
  ...document,
  run: { ...document.run, id: `later-${document.run.id}` },
}));

describe("compare()", () => {
  it("returns the document that --json prints, of documents as of files", async () => {
    const comparison = await compare({ baseline: before, candidate: after });
    expect(comparisonSchema.parse(comparison)).toEqual(comparison);
    expect(comparison.outcome).toBe("regression");
    expect(comparison.rule).toMatchObject({ significance: 0.003, strict: false, allowMismatch: false });

    const folder = join(temporaryFolder(), "before");
    mkdirSync(folder);
    for (const [i, document] of before.entries()) {
      writeFileSync(join(folder, `${i}.json`), JSON.stringify(document));
    }
    const fromFiles = await compare({ baseline: folder, candidate: after });
    expect(fromFiles.cells).toEqual(comparison.cells);
    const { runs } = (await compare({ baseline: before[0]!, candidate: after })).baseline;
    expect(runs).toBe(1);
  });

  it("has a threshold for a cell that the candidate alone has", async () => {
    const cells = [{ GBps: 50 }, { GBps: 50, memory: "pageable" as const }];
    const candidate = buildRuns({ seed: 2, cells }).map((document) => ({
      ...document,
      run: { ...document.run, id: `later-${document.run.id}` },
    }));
    const options = { baseline: before, candidate, thresholds: { cells: { "*/pageable/*": "5%" } } };
    expect((await compare(options)).kind).toBe("comparison");
  });

  it("judges by the thresholds that it is given", async () => {
    const { cells } = await compare({
      baseline: before,
      candidate: after,
      thresholds: { memory: { pinned: "50%", pageable: "50%" } },
    });
    expect(cells.map(({ verdict }) => verdict)).not.toContain("slower");
  });

  it("judges by the rule that it is given", async () => {
    const options = { significance: "1%", strict: true, allowMismatch: true } as const;
    const { rule } = await compare({ baseline: before, candidate: after, ...options });
    expect(rule).toMatchObject({ significance: 0.01, strict: true, allowMismatch: true });
  });

  it("refuses to do without results, and names an option that is misspelt, in a message with the hint", async () => {
    // @ts-expect-error Callers may have no types.
    await expect(compare()).rejects.toMatchObject({
      name: "PinbenchError",
      kind: "usage",
      message:
        "The option baseline is missing. Give compare() a baseline and a candidate: files, folders or documents.",
    });
    await expect(compare(null as never)).rejects.toMatchObject({ name: "PinbenchError", kind: "usage" });
    const misspelt = { baseline: before, candidate: after, treshold: { default: "9%" } };
    const error = await compare(misspelt).catch((reason: unknown) => reason as PinbenchError);
    expect(error).toMatchObject({
      hint: "Did you mean thresholds?",
      message: "There is no option treshold. Did you mean thresholds?",
      stack: expect.stringContaining("Did you mean thresholds?"),
    });
  });

  it.each([
    ["no run", { baseline: [], candidate: after }, "The baseline has no runs."],
    ["no run of the candidate", { baseline: before, candidate: [] }, "The candidate has no runs."],
    [
      "what is no document",
      { baseline: before, candidate: [after[0]!, {} as never] },
      /^a document of the candidate /i,
    ],
    [
      "a run twice",
      { baseline: [before[0]!, before[0]!], candidate: after },
      "The baseline has the same run twice.",
    ],
    [
      "a threshold that is none",
      { baseline: before, candidate: after, thresholds: { default: "fast" } },
      /^Among the options, default is wrong: "fast" is not a threshold/,
    ],
    [
      "a threshold for a cell that neither has",
      { baseline: before, candidate: after, thresholds: { cells: { "*/pined/*": "5%" } } },
      /^No cell of either result matches "\*\/pined\/\*", which has a threshold\. /,
    ],
  ])("refuses %s", async (_, options, message) => {
    const error = await compare(options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(PinbenchError);
    expect((error as PinbenchError).message).toMatch(message);
  });
});
