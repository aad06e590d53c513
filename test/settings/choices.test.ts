import { describe, expect, it } from "vitest";
import { copiesHostMemory, directions, inOrder, nearestWord } from "../../src/settings/choices.js";
import { parseChoices } from "../../src/settings/kinds.js";

const colours = ["red", "dark-blue", "green"] as const;

it("all directions except d2d and p2p copy host memory", () => {
  expect(directions.filter(copiesHostMemory)).toEqual(["h2d", "d2h", "bidir"]);
});

describe("a list of chosen words", () => {
  it("has each word once, in the order of all choices", () => {
    expect(parseChoices("green, red,green" as never, "colour", colours)).toEqual(["red", "green"]);
    expect(inOrder(colours, ["green", "yellow", "red"])).toEqual(["red", "green"]);
  });
});

describe("the nearest word, which an error suggests,", () => {
  it.each([
    ["found with one letter wrong", "grean", "green"],
    ["found without regard to case and dashes", "Dark_Blue", "dark-blue"],
    ["found with two letters missing in a word of six or more", "drkblu", "dark-blue"],
    ["found with one letter missing in a short word", "rd", "red"],
    ["null if a short word lacks two letters", "r", null],
    ["null if two letters of five are wrong", "grnne", null],
    ["null if the typed word is more than twice as long as each choice", "dark-bluedark-blued", null],
    ["null if no choice is similar", "yellow", null],
  ])("is %s: %s", (_, typed, word) => {
    expect(nearestWord(typed, colours)).toBe(word);
  });

  it("is null without words, and the first of equally near words", () => {
    expect(nearestWord("ab", [])).toBeNull();
    expect(nearestWord("cat", ["bat", "hat"])).toBe("bat");
  });
});
