import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import type { Explanation } from "../../src/explain/explanation.js";
import { explanationKind, renderQuestions } from "../../src/explain/explanation-report.js";
import { blocksOf, drawn, reportOf } from "../helpers/drawn.js";
import { buildExplanation } from "../helpers/explanation.js";

it("a figure that was computed has no samples", () => {
  const text = drawn(explanationKind, buildExplanation(), "table", fileScreen({ columns: 200 }));
  expect(text).toMatch(/\n +pinned to the device +55\.3 GB\/s +55\.2 to 55\.4 GB\/s +[1-9]\d*\n/);
  expect(text).toMatch(/\n +pinned over pageable +5\.04 times +4\.84 to 5\.25 times +-\n/);
});

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

  it("has all verdicts together if there are several, and marks those that are missing", () => {
    const undecided = { ...answers[2]!, failure: null };
    const sections = blocksOf(report({ answers: [...answers, undecided] }), "section");
    expect(sections.map(({ isSummary = false }) => isSummary)).toEqual([false, false, false, false, true]);
    const told = sections.flatMap(({ blocks }) =>
      blocks.flatMap((block) => (block.type === "answer" ? [[block.text, block.tone]] : [])),
    );
    expect(told).toEqual([
      ["True here", "plain"],
      [expect.stringMatching(/^Not here \(.+: true here; .+: not here\)$/), "plain"],
      ["Inconclusive", "failure"],
      ["Inconclusive", "warning"],
    ]);
    expect(sections.at(-1)!.blocks).toMatchObject([
      { facts: expect.arrayContaining([["overlap", "inconclusive"]]) },
    ]);
    expect(blocksOf(report({ answers: answers.slice(0, 1) }), "section")).toHaveLength(1);
  });
});

it("programs get each question's name, title, claim and what it needs", () => {
  const question = { name: "overlap", title: "why?", claim: "Because.", needs: "device" } as const;
  expect(JSON.parse(renderQuestions([{ ...question }], "json", fileScreen()))).toEqual([question]);
});
