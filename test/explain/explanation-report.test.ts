import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import type { Explanation } from "../../src/explain/explanation.js";
import { explanationKind, renderQuestions } from "../../src/explain/explanation-report.js";
import { blocksOf, reportOf } from "../helpers/drawn.js";
import { buildExplanation } from "../helpers/explanation.js";

describe("the report on an explanation", () => {
  const report = (part: Partial<Explanation> = {}) => reportOf(explanationKind, buildExplanation(part));
  const { answers, asked } = buildExplanation();

  it("names each of several devices by its number, and in its title each kind once", () => {
    const devices = [0, 3].map((ordinal) => ({ ordinal, name: "NVIDIA H200" }));
    const { name, ...several } = report({ devices });
    expect(name).toMatch(/^What pinned memory does: NVIDIA H200, 2026/);
    const factsOf = (of: typeof several) => blocksOf({ name, ...of }, "facts")[0]!.facts.slice(1);
    expect(factsOf(several)).toEqual([
      ["Device 0", "NVIDIA H200"],
      ["Device 3", "NVIDIA H200"],
    ]);
    expect(factsOf(report())).toEqual([["Device", "NVIDIA H200"]]);
  });

  it("warns of a device that is no GPU, and of questions that were not reached", () => {
    const alertsOf = (part: Partial<Explanation>) =>
      blocksOf(report(part), "alert").map(({ text, tone }) => [text, tone]);
    expect(alertsOf({})).toEqual([]);
    expect(alertsOf({ notice: "no GPU", answers: answers.slice(0, 1) })).toEqual([
      ["no GPU", "warning"],
      [`interrupted: 1 of ${asked.length} questions answered`, "warning"],
    ]);
  });

  it("shows all verdicts together if there are several, and marks failed and undecided ones", () => {
    const undecided = { ...answers[2]!, failure: null };
    const several = report({ answers: [...answers, undecided] });
    const told = blocksOf(several, "section").flatMap(({ blocks }) =>
      blocks.flatMap((block) => (block.type === "answer" ? [[block.text, block.tone]] : [])),
    );
    expect(told).toEqual([
      [expect.stringMatching(/^True here: The CPU fills/), "plain"],
      [expect.stringMatching(/^Not here: From pageable/), "plain"],
      [expect.stringMatching(/^Inconclusive: cuMemHostAlloc failed/), "failure"],
      [expect.stringMatching(/^Inconclusive: cuMemHostAlloc failed/), "warning"],
    ]);
    expect(blocksOf(several, "answer").map(({ text }) => text)).toEqual([
      "Of 4 claims: 1 true here, 1 not here, 2 inconclusive.",
    ]);
    const [overview] = blocksOf({ ...several, blocks: several.brief!.blocks }, "table");
    expect(overview!.grid.rows.map((row) => row.map(({ text }) => text))).toContainEqual([
      expect.stringMatching(/^[A-Z].*\?$/),
      "inconclusive",
    ]);
    const single = report({ answers: answers.slice(0, 1) });
    expect(blocksOf({ ...single, blocks: single.brief!.blocks }, "answer")[0]!.text).toMatch(/^True here: /);
  });
});

it("the JSON has each question's name, title, claim and what it needs", () => {
  const question = { name: "overlap", title: "why?", claim: "Because.", needs: "device" } as const;
  expect(JSON.parse(renderQuestions([{ ...question }], "json", fileScreen()))).toEqual([question]);
});
