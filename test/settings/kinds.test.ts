import { describe, expect, it } from "vitest";
import * as kind from "../../src/settings/kinds.js";
import { type Kind, repeatable } from "../../src/settings/setting.js";
import { MiB } from "../../src/settings/units.js";

/** As callers without types may write it. */
const read = (of: { read: (given: never) => unknown }, given: unknown) => of.read(given as never);

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
    ["a wait of 0 s", kind.wait, "0s", 0],
    ["a wait of a day", kind.wait, "24h", 86_400e9],
    ["a time", kind.time, "1ns", 1],
    ["a step's time", kind.step, "70ms", { timeNs: 70e6 }],
    ["a step whose time pinbench chooses", kind.step, "auto", { timeNs: "auto" }],
    ["a step that is the user's function", kind.step, "train.py:step", { function: "train.py:step" }],
    ["a sample", kind.sample, "588KiB", { bytes: 588 * 1024, costNs: 0 }],
    ["a sample with its time", kind.sample, "588KiB,500us", { bytes: 588 * 1024, costNs: 5e5 }],
    ["a sample in bytes", kind.sample, 4096, { bytes: 4096, costNs: 0 }],
    ["counts", kind.counts("workers"), [4, "2", 4], [2, 4]],
    ["the least count", turns, "2", 2],
    ["the largest count", turns, 64, 64],
    ["a count of two digits", turns, "10", 10],
    ["a choice", colour, "blue", "blue"],
    ["choices in their own order", kind.choicesOf("colour", ["red", "blue"]), "blue, red", ["red", "blue"]],
    ["patterns of cells", kind.cellPatterns, "d0/*, */pinned/*", ["d0/*", "*/pinned/*"]],
    ["devices, each once and in the order of the list", kind.devices, ["1", 0, "1", "10"], [1, 0, 10]],
    ["all devices", kind.devices, "all", "all"],
    ["one device", kind.oneDevice, "7", 7],
    ["a list of one device", kind.oneDevice, [3], 3],
    ["a NUMA node", kind.numaNode, "12", 12],
    ["a NUMA node as a number", kind.numaNode, 0, 0],
    ["the local NUMA node", kind.numaNode, "local", "local"],
    ["ids of cells as text", kind.cellIds, " a,b \n c", ["a", "b", "c"]],
    ["ids of cells as a list", kind.cellIds, ["a b", "c"], ["a", "b", "c"]],
    ["text that looks like a number", kind.text, "7", "7"],
    ["a switch", kind.trueOrFalse, false, false],
  ])("%s", (_, of, given, value) => {
    expect(read(of, given)).toEqual(value);
    expect(fits(of.json, read(of, given))).toBe(true);
  });
});

it("a repeatable setting has all of its values, in their order", () => {
  const { add, default: none } = repeatable("--size <size>", "", kind.size);
  expect([1, 3, 2].reduce(add, none)).toEqual([1, 3, 2]);
});
