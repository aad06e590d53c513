import { expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import { explanationKind } from "../../src/explain/explanation-report.js";
import { drawn } from "../helpers/drawn.js";
import { buildExplanation } from "../helpers/explanation.js";

it("a figure that was computed has no samples", () => {
  const text = drawn(explanationKind, buildExplanation(), "table", fileScreen({ columns: 200 }));
  expect(text).toMatch(/\n +pinned to the device +55\.3 GB\/s +55\.2 to 55\.4 GB\/s +[1-9]\d*\n/);
  expect(text).toMatch(/\n +pinned over pageable +5\.04 times +4\.84 to 5\.25 times +-\n/);
});
