import { expect, it } from "vitest";
import { loadConfiguration } from "../../src/settings/configuration.js";
import { documentFormats, formatOfPath } from "../../src/settings/document-formats.js";
import * as kind from "../../src/settings/kinds.js";
import { labels } from "../../src/settings/labels.js";
import { runSettings } from "../../src/settings/table.js";
import { parseThreshold, parseThresholdFlag } from "../../src/settings/thresholds.js";
import { parseDuration, parsePercent, parseSize, readCounts, readSizes } from "../../src/settings/units.js";
import { configFile, folderOf, refusalOf } from "../helpers/config.js";
import { errorOf } from "../plan/support.js";

/* Invalid values of settings, and the errors that refuse them. */

const turns = kind.count("number of turns", 2, 64);
const colours = ["red", "dark-blue", "green"] as const;
const readLabels = (texts: readonly string[]) =>
  texts.map(labels.kind.read).reduce(labels.add, labels.default);
const key = "k".repeat(65);

/** Readers by their names, with values that each refuses; those in a list for the same reason. */
const refused: [reader: string, read: (value: never) => unknown, ...values: unknown[][]][] = [
  [
    "a size",
    parseSize,
    ["", "abc", "-1MiB", "1e6", "NaN", "1,5MiB", "much"],
    ["0", "0.0MiB"],
    ["1.5", "0.3KiB"],
    ["16Mbit"],
    ["99999999TiB", "9007199254740992"],
    ["1.5k", "1.5K", "1.5m", "1.5M", "1.5G", "1.5t"],
  ],
  ["a size in bytes", kind.size.read, [0], [1.5]],
  [
    "sizes",
    readSizes,
    ["1KiB..1MiB*1", "1KiB..1MiB*0.5", "1KiB..1MiB*0", "1KiB..1MiB+0", "1KiB..64MiB+ 00.00 B"],
    ["1MiB..1KiB*2"],
    ["1KiB..64MiB", "..1MiB*2", "1KiB..*2", "1KiB..64MiB*", "1KiB..2KiB..3KiB*2"],
    [
      "1KiB..8KiB*2*2",
      "1KiB..1MiB*-2",
      "1KiB..1MiB*2KiB",
      "1KiB..1MiB*1e1",
      "1KiB..64MiB*two",
      "1KiB..1MiB*0x2",
    ],
    ["1KiB..1MiB+-1KiB", "1KiB,,2KiB"],
    ["1..1MiB+1", "1..2*1.0000001", "1..600+1,601..1200+1"],
    ["0", "64k", [0], 1.5],
  ],
  [
    "a duration",
    parseDuration,
    ["8", "10", "s", "", "-1s", "soon", "1s 2", "about 7sec", "3 admin", "7sec."],
    ["8 sec", "10sec", "2 minutes", "1.5hours", "5msec", "5 Microseconds", "7nanoseconds", " 1.25sec "],
    ["86401s"],
  ],
  [
    "a share",
    parsePercent,
    ["1", "5", "12", " 2 ", "1 pct", "2.5 percent", "1.25percent", "50 pct"],
    ["0", "0%", "51%", "-1%", "80", "0.9", "0 pct"],
    ["abc", "", "1% 2", "few", " 12 % of", "~5"],
  ],
  ["a share as a number", kind.share.read, [0, 0.6]],
  [
    "counts",
    (text: string) => readCounts(text, "workers"),
    ["0", "-1", "1.5", "two", "1,,2", "", "w2", "2w", "1e1", "0x3"],
  ],
  ["a threshold", parseThreshold, ["0%", "100%"]],
  [
    "--threshold",
    parseThresholdFlag,
    ["0%", "100%", "100", "-5%", "", "5% 6"],
    ["1", "5", "5 percent"],
    ["pageable=", "pageable", "pinned:8%", "8%=pinned"],
    ["shared=5%", "=5%", "pinned=d2h=5%", "Pined=8%", "d2h=8%", "d0/h2d/*=8%"],
    ["staged=10%,pinned=3%", "pinned,staged=8%"],
  ],
  ["a time", kind.moment.read, ["2026", "2026-13-20", "on 2026-11-20"]],
  ["a wait", kind.wait.read, ["24.001h"]],
  ["a time above 0", kind.time.read, ["0s"]],
  ["a step", kind.step.read, ["0s", "70", "train.py"]],
  ["a count", turns.read, [1, "65", 2.5], ["1e1", "0x3", "a3", "3a", "9007199254740992"]],
  ["a choice", kind.choice(["red", "blue"]).read, ["green"]],
  [
    "choices",
    (value: never) => kind.parseChoices(value, "colour", colours),
    [["red", "gren"], "yellow"],
    ["", "red green"],
  ],
  ["patterns of cells", kind.cellPatterns.read, ["d0/*,"]],
  ["devices", kind.devices.read, ["0,gpu1", "1x", "all,1"]],
  ["a NUMA node", kind.numaNode.read, ["n1", "1n"]],
  ["text", kind.text.read, [7]],
  ["a switch", kind.trueOrFalse.read, ["yes"]],
  ["one device", kind.oneDevice.read, ["0,1", "all", "first"]],
  ["a sample", kind.sample.read, ["4K", "4KiB,5", "4KiB,5us,6us"]],
  [
    "labels",
    readLabels,
    [["rack"], ["=7"]],
    [["rack row=7"], ["__proto__=7"], [`${key}=7`]],
    [["rack="], [`rack=${"7".repeat(257)}`], ["rack=7\n8"], ["rack=\u001b[2J"], ["rack=\u202e7"]],
    [["rack=7", "rack=8"]],
  ],
  [
    "a diagnosis' file",
    (path: string) => formatOfPath(documentFormats.diagnosis, path),
    ["", "/tmp/dev/a", "/dev/shm/a.jpg", "a.svg"],
  ],
  ["a number of samples", runSettings.samplesPerCell.kind.read, [0, 1e6 + 1]],
  ["a budget", runSettings.budgetNs.kind.read, ["-1ns", "86401s"]],
];

it("each invalid value is refused in the words of its snapshot", async () => {
  const texts = refused.flatMap(([reader, read, ...groups]) =>
    groups.flat().map((value) => {
      const error = errorOf(() => read(value as never));
      expect(error.kind, `${reader} ${value}`).toBe("usage");
      return `${reader}: ${JSON.stringify(value)}\n  ${error.message}\n  ${error.hint}\n`;
    }),
  );
  await expect(texts.join("")).toMatchFileSnapshot("snapshots/refusals.txt");
});

/** Configurations with a key or a value that makes no sense. */
const configurations = [
  ...[{ pln: {} }, { sizes: "1MiB" }, { colour: true }, { plan: [] }, { plan: { size: "1MiB" } }],
  ...[{ plan: { "max-pinned": "1MiB" } }, { thresholds: { memory: { pageabel: "5%" } } }],
  ...[{ plan: { preset: "huge" } }, { plan: { sizes: "16M" } }, { plan: { sizes: [] } }],
  ...[{ plan: { cache: ["tepid"] } }, { plan: { cache: "tepid" } }, { plan: { workers: [1, 0] } }],
  ...[{ plan: { budget: 8 } }, { plan: { samples: 1.5 } }, { plan: { verify: "no" } }],
  ...[{ plan: { maxPinned: null } }, { baseline: "" }, { runs: 0 }, { runs: 1001 }, { runs: "5" }],
  ...[{ significance: 0.01 }, { strict: 1 }, { thresholds: { default: "100%" } }],
  ...[{ thresholds: { direction: { h2d: "5%" } } }],
];

it("each configuration that makes no sense is refused with the place and what is allowed", async () => {
  const texts = configurations.map(async (config) => {
    const folder = folderOf({ [configFile]: config });
    const refusal = await refusalOf(loadConfiguration({ config: null }, folder));
    return `${JSON.stringify(config)}\n  ${refusal.replace(folder, "FOLDER")}\n`;
  });
  await expect((await Promise.all(texts)).join("")).toMatchFileSnapshot("snapshots/configurations.txt");
});
