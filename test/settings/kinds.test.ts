import { describe, expect, it } from "vitest";
import * as kind from "../../src/settings/kinds.js";
import { type Kind, repeatable } from "../../src/settings/setting.js";
import { MiB } from "../../src/settings/units.js";
import { errorOf } from "../plan/support.js";

/** As callers without types may write it. */
const read = (of: { read: (given: never) => unknown }, given: unknown) => of.read(given as never);
const refusal = (of: { read: (given: never) => unknown }, given: unknown) => {
  const { kind: kindOfError, message, hint } = errorOf(() => read(of, given));
  expect(kindOfError).toBe("usage");
  return `${message} ${hint ?? ""}`.trim();
};

const steps = kind.wholeNumber("number of steps");
const turns = kind.count("number of turns", 2, 64);
const colour = kind.choice(["red", "blue"]);

/** Whether a value has the form that a kind says its values have in JSON. */
function fits({ type, isList, orWords }: Kind<unknown, never>["json"], value: unknown): boolean {
  if (typeof value === "string" && orWords?.includes(value)) return true;
  if (isList) return Array.isArray(value) && value.every((one) => fits({ type }, one));
  return type === "integer" ? Number.isInteger(value) : typeof value === type;
}

describe("a setting's kind reads", () => {
  it.each([
    ["a size as text", kind.size, "1.5MiB", 1.5 * MiB],
    ["a size in bytes", kind.size, 4096, 4096],
    ["the least size", kind.size, 1, 1],
    ["sizes", kind.sizes, ["1MiB", 4096], [4096, MiB]],
    ["sizes of blocks", kind.blockSizes, "4KiB,8KiB", [4096, 8192]],
    ["sizes of blocks to search for", kind.blockSizes, "auto", "auto"],
    ["a date", kind.moment, "2026-11-20", "2026-11-20T00:00:00.000Z"],
    ["a time in UTC", kind.moment, "2026-11-20T14:00+02:00", "2026-11-20T12:00:00.000Z"],
    ["a threshold", kind.threshold, "pageable=10%", { memory: { pageable: 0.1 } }],
    ["a share as text", kind.share, "2.5%", 0.025],
    ["a share as a number", kind.share, 0.03, 0.03],
    ["the largest share", kind.share, 0.5, 0.5],
    ["a tiny share", kind.share, 1e-9, 1e-9],
    ["a duration", kind.duration, "0s", 0],
    ["a wait of a day", kind.wait, "24h", 86_400e9],
    ["a time", kind.time, "1ns", 1],
    ["a step's time", kind.stepTime, "70ms", 70e6],
    ["a step's time that is left open", kind.stepTime, "auto", "auto"],
    ["counts", kind.counts("workers"), [4, "2", 4], [2, 4]],
    ["a significance in per cent", kind.significance, " 0.5 % ", 0.005],
    ["a significance as a number", kind.significance, 0.003, 0.003],
    ["the largest significance", kind.significance, "50%", 0.5],
    ["a whole number as text", steps, "12", 12],
    ["nothing as a whole number", steps, 0, 0],
    ["the largest whole number", steps, "9007199254740991", Number.MAX_SAFE_INTEGER],
    ["the least count", turns, "2", 2],
    ["the largest count", turns, 64, 64],
    ["a count of two digits", turns, "10", 10],
    ["a choice", colour, "blue", "blue"],
    ["choices in their own order", kind.choicesOf("colour", ["red", "blue"]), "blue, red", ["red", "blue"]],
    ["patterns of cells", kind.cellPatterns, "d0/*, */pinned/*", ["d0/*", "*/pinned/*"]],
    ["devices, each once and in the order given", kind.devices, ["1", 0, "1", "10"], [1, 0, 10]],
    ["all devices", kind.devices, "all", "all"],
    ["a NUMA node", kind.numaNode, "12", 12],
    ["a NUMA node as a number", kind.numaNode, 0, 0],
    ["the local NUMA node", kind.numaNode, "local", "local"],
    ["ids of cells as text", kind.cellIds, " a,b \n c", ["a", "b", "c"]],
    ["ids of cells as a list", kind.cellIds, ["a b", "c"], ["a", "b", "c"]],
    ["text", kind.text, "7", "7"],
    ["a switch", kind.trueOrFalse, false, false],
    ["that all copies be compared", kind.verifying, "every", "every"],
    ["that the last ones be compared", kind.verifying, "last", true],
    ["that none be compared", kind.verifying, false, false],
    ["keywords as an object", kind.keywords, { root: "data" }, { root: "data" }],
    ["keywords as JSON", kind.keywords, '{"train": true}', { train: true }],
  ])("%s", (_, of, given, value) => {
    expect(read(of, given)).toEqual(value);
    expect(fits(of.json, read(of, given))).toBe(true);
  });
});

describe("a setting's kind refuses", () => {
  it.each([
    ["no bytes", kind.size, 0, '"0" is no size to copy'],
    ["a half byte", kind.size, 1.5, '"1.5" is not a whole number of bytes'],
    ["no share", kind.share, 0, '"0" is not a share above 0 %'],
    ["a large share", kind.share, 0.6, '"0.6" is not a share above 0 %'],
    ["a year", kind.moment, "2026", '"2026" is not a time. Write a date or a time in UTC, such as'],
    ["a month that there is not", kind.moment, "2026-13-20", '"2026-13-20" is not a time.'],
    ["a time after something else", kind.moment, "on 2026-11-20", '"on 2026-11-20" is not a time.'],
    ["a wait of more than a day", kind.wait, "24.001h", "the longest wait is a day"],
    ["no time", kind.time, "0s", '"0s" is not a time above 0.'],
    ["a step without time", kind.stepTime, "0s", '"0s" is not a time above 0.'],
    [
      "no significance",
      kind.significance,
      "0",
      '"0" is not a significance: it must be above 0 and at most 0.5.',
    ],
    ["an empty significance", kind.significance, "", '"" is not a significance'],
    ["a significance in words", kind.significance, "low", "Write for example 0.3% or 0.003."],
    ["a large significance", kind.significance, "51%", '"51%" is not a significance'],
    ["a significance that lacks its sign", kind.significance, "5", "Did you mean 5%?"],
    ["part of a step", steps, 1.5, '"1.5" is not a number of steps: it must be a whole number.'],
    ["less than no steps", steps, -1, '"-1" is not a number of steps: it must be a whole number.'],
    [
      "a number that is too large to be exact",
      steps,
      "9007199254740992",
      '"9007199254740992" is not a number of steps: it must be a whole number. The largest is 9007199254740991.',
    ],
    ["too few", turns, 1, '"1" is not a number of turns: it must be a whole number from 2 to 64.'],
    ["too many", turns, "65", '"65" is not a number of turns'],
    ["part of a turn", turns, 2.5, '"2.5" is not a number of turns'],
    ["turns with an exponent", turns, "1e1", '"1e1" is not a number of turns'],
    ["turns in base 16", turns, "0x3", '"0x3" is not a number of turns'],
    ["steps in base 16", steps, "0x3", '"0x3" is not a number of steps'],
    ["steps with an exponent", steps, "1e1", '"1e1" is not a number of steps'],
    ["turns in words", turns, "a3", '"a3" is not a number of turns'],
    ["turns with a unit", turns, "3a", '"3a" is not a number of turns'],
    ["another choice", colour, "green", '"green" is not one of red, blue.'],
    ["an empty pattern", kind.cellPatterns, "d0/*,", 'matches no cell. Write for example "*/pinned/*".'],
    ["a device's name", kind.devices, "0,gpu1", '"gpu1" is not a device number. Write for example 0 or 0,1'],
    ["a device with a unit", kind.devices, "1x", '"1x" is not a device number.'],
    ["all devices and one", kind.devices, "all,1", '"all" is not a device number.'],
    ["a node's name", kind.numaNode, "n1", '"n1" is not a NUMA node. Write local, all, or a node\'s number'],
    ["a node with a unit", kind.numaNode, "1n", '"1n" is not a NUMA node.'],
    ["a number as text", kind.text, 7, "7 is not text."],
    ["text as a switch", kind.trueOrFalse, "yes", '"yes" is not true or false.'],
    [
      "another word on copies to compare",
      kind.verifying,
      "some",
      '"some" does not name the copies to check. Write --verify, --verify every or --no-verify.',
    ],
    [
      "keywords that are no JSON",
      kind.keywords,
      "{",
      "--kwargs takes a JSON object, and { is not one. Write",
    ],
    [
      "keywords that are a list",
      kind.keywords,
      "[1]",
      "--kwargs takes a JSON object, and [1] is not one. Write",
    ],
  ])("%s", (_, of, given, message) => {
    expect(refusal(of, given)).toContain(message);
  });

  it("a negative number without naming the largest", () => {
    expect(refusal(steps, -1)).not.toContain("The largest");
    expect(refusal(steps, "no number")).not.toContain("The largest");
  });
});

it("a repeatable setting has all of its values, in their order", () => {
  const { add, default: none } = repeatable("--size <size>", "", kind.size);
  expect([1, 3, 2].reduce(add, none)).toEqual([1, 3, 2]);
});
