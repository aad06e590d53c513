import { describe, expect, test } from "vitest";
import { labels } from "../../src/settings/labels.js";

const read = (text: string) => labels.kind.read(text);
const given = (...texts: string[]) => texts.map(read).reduce(labels.add, labels.default);

describe("a label on the command line", () => {
  test.each([
    ["rack=7", ["rack", "7"]],
    ["cooling.loop-2_b=north east", ["cooling.loop-2_b", "north east"]],
    ["note=a=b", ["note", "a=b"]],
    [`k=${"é".repeat(256)}`, ["k", "é".repeat(256)]],
    [`k=${"🔧".repeat(256)}`, ["k", "🔧".repeat(256)]],
  ])("%s is a key and a value", (text, label) => {
    expect(read(text)).toEqual(label);
  });
});

describe("several labels", () => {
  test("are kept by their keys, in their order", () => {
    expect(Object.entries(given("row=b", "rack=7"))).toEqual([
      ["row", "b"],
      ["rack", "7"],
    ]);
  });
});
