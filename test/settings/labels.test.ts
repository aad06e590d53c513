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

  test.each([
    ["rack", '"rack" is not a label: a label is a key and a value.'],
    ["=7", '"=7" is not a label'],
    ["rack row=7", '"rack row" cannot be the key of a label.'],
    ["__proto__=7", '"__proto__" cannot be the key'],
    [`${"k".repeat(65)}=7`, "cannot be the key"],
    ["rack=", '"" cannot be the value of the label rack.'],
    [`rack=${"7".repeat(257)}`, "cannot be the value"],
    ["rack=7\n8", "cannot be the value"],
    ["rack=\u001b[2J", "cannot be the value"],
    ["rack=\u202e7", "cannot be the value"],
  ])("%j is refused", (text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  test.each([
    ["rack", "Write for example --label rack=7."],
    ["rack row=7", "Keys are up to 64 letters, digits, dots, dashes and underscores"],
    ["rack=", "A value is one line of up to 256 characters, and not empty."],
  ])("%j is refused with what to write", (text, hint) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ hint: expect.stringContaining(hint) }));
  });
});

describe("several labels", () => {
  test("are kept by their keys, in their order", () => {
    expect(Object.entries(given("row=b", "rack=7"))).toEqual([
      ["row", "b"],
      ["rack", "7"],
    ]);
  });

  test("a key that comes twice is refused, with both values", () => {
    expect(() => given("rack=7", "rack=8")).toThrow('The label rack is given twice, as "7" and as "8".');
  });
});
