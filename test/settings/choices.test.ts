import { describe, expect, it } from "vitest";
import { copiesHostMemory, directions, inOrder, nearestWord } from "../../src/settings/choices.js";
import { parseChoices } from "../../src/settings/kinds.js";

const colours = ["red", "dark-blue", "green"] as const;

it("all directions copy host memory but those within and between devices", () => {
  expect(directions.filter(copiesHostMemory)).toEqual(["h2d", "d2h", "bidir"]);
});

describe("a list of choices", () => {
  it("has each once and in the order of all", () => {
    expect(parseChoices("green, red,green" as never, "colour", colours)).toEqual(["red", "green"]);
    expect(inOrder(colours, ["green", "yellow", "red"])).toEqual(["red", "green"]);
  });
});

describe("the nearest word", () => {
  it.each([
    ["one letter more, less or other", "grean", "green"],
    ["without regard to case and dashes", "Dark_Blue", "dark-blue"],
    ["two letters of six or more", "drkblu", "dark-blue"],
    ["one letter of a short word", "rd", "red"],
    ["not if a short word lacks two letters", "r", null],
    ["not if two letters of five are wrong", "grnne", null],
    ["not if the typed word is more than twice as long as each choice", "dark-bluedark-blued", null],
    ["not if no choice is similar", "yellow", null],
  ])("is found %s: %s", (_, typed, word) => {
    expect(nearestWord(typed, colours)).toBe(word);
  });

  it("is none of no words, and the first of equally near ones", () => {
    expect(nearestWord("ab", [])).toBeNull();
    expect(nearestWord("cat", ["bat", "hat"])).toBe("bat");
  });
});
