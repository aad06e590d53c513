import { expect, it } from "vitest";
import { describeRound } from "../../src/cli/live-run.js";

it.each([
  [1, "round 1 of at least 6"],
  [6, "round 6 of at least 6"],
  [7, "round 7"],
])("round %d is told as %s: the number of further ones is not known", (round, text) => {
  expect(describeRound(round)).toBe(text);
});
