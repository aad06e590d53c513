import { describe, expect, it } from "vitest";
import { commandSettings } from "../../src/settings/command-settings.js";
import * as kind from "../../src/settings/kinds.js";
import { optionName, type SettingTable } from "../../src/settings/setting.js";
import {
  callNow,
  defaultsOf,
  fillRunSettings,
  overrideSettings,
  readOptions,
  readValue,
  type Source,
} from "../../src/settings/settings.js";
import { runSettings } from "../../src/settings/table.js";
import { errorOf, MiB } from "../plan/support.js";

const fromFlags = (values: Source["values"]): Source => ({ origin: "flag", values });
const fromFile = (values: Source["values"]): Source => ({ origin: "configuration", values });

describe("the help", () => {
  const described = Object.entries(commandSettings).flatMap(([command, table]) =>
    Object.values(table as SettingTable).map((one) => ({ command, ...one })),
  );
  const withNumber = described.filter((one) => typeof one.default === "number");

  it("covers more than ten settings whose default is a number", () => {
    expect(withNumber.length).toBeGreaterThan(10);
  });

  it.each(withNumber)("of $command $flag shows its true default, or no default", (one) => {
    // "(10)", "(10m)", "(5%)", or "(60s; 33s in a running job)".
    const [, written] = /\(([^();]+)[^()]*\)$/.exec(one.help) ?? [];
    if (written !== undefined) expect(one.kind.read(written)).toBe(one.default);
  });
});

describe("the settings of a run", () => {
  it("are the defaults if nothing is set, without a source", () => {
    expect(fillRunSettings()).toEqual({ ...defaultsOf(runSettings), origins: {} });
    expect(fillRunSettings()).toMatchObject({ precision: 0.01, verify: "last", sizesBytes: null });
  });

  it("have switches that are off unless they are set, and exclude others", () => {
    expect(kind.onDemand("--a", "do a", ["b"])).toMatchObject({ default: false, excludes: ["b"] });
  });

  it("are those of the later source, with the origin of each", () => {
    const settings = fillRunSettings(
      fromFile({ precision: 0.05, workers: [1] }),
      fromFlags({ precision: 0.02 }),
    );
    expect(settings).toMatchObject({ precision: 0.02, workers: [1] });
    expect(settings.origins).toEqual({ precision: "flag", workers: "configuration" });
  });

  it("exclude settings of other commands", () => {
    expect(fillRunSettings(fromFlags({ format: "json" } as never))).not.toHaveProperty("format");
  });

  it("have either sizes or block sizes, whichever were set later", () => {
    const sizes = fromFile({ sizesBytes: [MiB] });
    const blocks = fromFlags({ blockSizesBytes: [4096] });
    const withBlocks = fillRunSettings(sizes, blocks);
    expect(withBlocks).toMatchObject({ sizesBytes: null, blockSizesBytes: [4096] });
    expect(withBlocks.origins).toEqual({ blockSizesBytes: "flag" });
    const withSizes = fillRunSettings(blocks, sizes);
    expect(withSizes).toMatchObject({ sizesBytes: [MiB], blockSizesBytes: null });
    expect(withSizes.origins).toEqual({ sizesBytes: "configuration" });
    const both = { sizesBytes: [MiB], blockSizesBytes: [4096] };
    expect(fillRunSettings(fromFlags(both))).toMatchObject(both);
    expect(fillRunSettings(sizes, fromFlags({ blockSizesBytes: null }))).toMatchObject({ sizesBytes: [MiB] });
  });

  it("drop sizes and workers if cells are listed, and keep the devices", () => {
    const settings = fillRunSettings(
      fromFile({ sizesBytes: [MiB], workers: [2], devices: [1], precision: 0.02 }),
      fromFlags({ cells: ["d0/h2d/pinned"] }),
    );
    expect(settings).toMatchObject({ sizesBytes: null, workers: null, devices: [1], precision: 0.02 });
    expect(Object.keys(settings.origins).sort()).toEqual(["cells", "devices", "precision"]);
  });
});

describe("the settings of an earlier run", () => {
  const earlier = fillRunSettings(fromFile({ samplesPerCell: 20, precision: 0.02, numa: 3 }));

  it("keep values that are not set again, and are not changed themselves", () => {
    const before = structuredClone(earlier);
    expect(overrideSettings(earlier, fromFlags({ numa: 4 }))).toEqual({
      ...earlier,
      numa: 4,
      origins: { ...earlier.origins, numa: "flag" },
    });
    expect(earlier).toEqual(before);
  });

  it.each([{ precision: 0.1 }, { budgetNs: 5e9 }])("lose their count of samples if %j is set", (values) => {
    const settings = overrideSettings(earlier, fromFlags(values));
    expect(settings).toMatchObject({ ...values, samplesPerCell: null, numa: 3 });
    expect(settings.origins).not.toHaveProperty("samplesPerCell");
  });
});

describe("a caller's options", () => {
  const table = { precision: runSettings.precision, samplesPerCell: runSettings.samplesPerCell };

  it("are read by their kinds, and an option without a value counts as absent", () => {
    expect(readOptions(table, { precision: "5%" })).toEqual({ precision: 0.05 });
    expect(readOptions(table, { precision: undefined, samples: 4 } as never)).toEqual({
      samplesPerCell: 4,
    });
  });

  it("are refused if their names are unknown", () => {
    expect(errorOf(() => readOptions(table, { precise: "5%" } as never))).toMatchObject({
      kind: "usage",
      message: "There is no option precise.",
      hint: "The options are precision, samples.",
    });
    expect(errorOf(() => readOptions(table, { precison: "5%" } as never)).hint).toBe(
      "Did you mean precision?",
    );
  });

  it.each([
    ["an object for a number", kind.share, {}],
    ["a list for a number", kind.share, [0.1]],
    ["nested lists", kind.devices, [0, [1]]],
    ["a function", kind.text, () => "text"],
    ["no value", kind.text, undefined],
  ])("are refused if they have the wrong form: %s", (_, of, value) => {
    expect(() => readValue("name", of as never, value as never)).toThrow(
      `The option name must be ${of.allowed}.`,
    );
  });

  it("may be lists of plain values, and single values", () => {
    expect(readValue("devices", kind.devices, [0, "1"])).toEqual([0, 1]);
    expect(readValue("check", kind.trueOrFalse, true)).toBe(true);
    // Each kind decides what null means.
    expect(() => readValue("name", kind.text, null as never)).toThrow("null is not text.");
  });

  it("have names that are made from the flags", () => {
    expect(["--max-pinned <size>", "--no-strict", "--allow-mismatch"].map(optionName)).toEqual([
      "maxPinned",
      "strict",
      "allowMismatch",
    ]);
  });
});

it("callNow records the time on both the wall clock and the steady clock", () => {
  const [wallMs, steadyMs] = [Date.now(), performance.now()];
  const { argv, startedAt, startedMs } = callNow();
  expect(argv).toEqual([]);
  expect(startedAt.getTime()).toBeGreaterThanOrEqual(wallMs);
  expect(startedMs).toBeGreaterThanOrEqual(steadyMs);
});
