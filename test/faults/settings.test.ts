import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchesPattern } from "../../src/compare/history/cell-patterns.js";
import { PinbenchError } from "../../src/errors.js";
import { compare, history, run } from "../../src/index.js";
import { cellId, parseCellId } from "../../src/results/cell-id.js";
import type { Cell } from "../../src/results/cell-schema.js";
import { besides, caches, directions, memories, modes, peerPaths } from "../../src/settings/choices.js";
import { commandSettings } from "../../src/settings/command-settings.js";
import { type Kind, optionName, type SettingTable } from "../../src/settings/setting.js";
import { readOptions } from "../../src/settings/settings.js";
import { parseThreshold } from "../../src/settings/thresholds.js";
import { tuneSettings } from "../../src/settings/tune-settings.js";
import {
  formatSize,
  maxSizes,
  parseDuration,
  parsePercent,
  parseSize,
  readCounts,
  readSizes,
} from "../../src/settings/units.js";
import {
  acceptedBy,
  expectNoPollution,
  expectRefusal,
  hostileText,
  hostileValue,
  runs,
} from "../helpers/hostile.js";
import { countTrials, trials } from "../helpers/trials.js";

type AnyKind = Kind<unknown, never>;

/** Every kind of value that a flag has, once, with the first flag that has it. */
const kinds = new Map<AnyKind, string>();
for (const [command, table] of Object.entries<SettingTable>(commandSettings)) {
  for (const { kind, flag } of Object.values(table)) {
    if (!kinds.has(kind)) kinds.set(kind, `${command} ${flag}`);
  }
}

/** Numbers are finite and not below 0, and integers differ from their neighbours. */
function expectSound(value: unknown, { json }: AnyKind): void {
  for (const one of [value].flat()) {
    if (typeof one !== "number") continue;
    expect(Number.isFinite(one) && one >= 0).toBe(true);
    if (json.type === "integer") expect(Number.isSafeInteger(one)).toBe(true);
  }
}

describe("any text that is given to a flag is read, or refused in one sentence:", () => {
  const all = [...kinds].filter(([{ form }]) => form !== "switch").map(([kind, name]) => ({ kind, name }));

  it.each(all)("$name", ({ kind }) => {
    const trial = countTrials("texts given to flags");
    fc.assert(
      fc.property(hostileText, (text) => {
        trial.tries();
        const accepted = acceptedBy(() => kind.read(text as never));
        if (accepted !== null) expectSound(accepted.value, kind);
        trial.survives();
      }),
      runs(trials(40, 4000)),
    );
    expectNoPollution();
  });
});

describe("any value that is given to an option of the library is read, or refused in one sentence:", () => {
  const names = Object.values<SettingTable[string]>(tuneSettings).map(({ flag }) => ({
    name: optionName(flag),
  }));

  it.each(names)("tune's $name", ({ name }) => {
    const trial = countTrials("values given to the library");
    fc.assert(
      fc.property(hostileValue, (value) => {
        trial.tries();
        acceptedBy(() => readOptions(tuneSettings, { [name]: value }));
        trial.survives();
      }),
      runs(trials(40, 2000)),
    );
    expectNoPollution();
  });

  const calls: [string, (value: unknown) => Promise<unknown>][] = [
    ["run's cells", (value) => run({ cells: value as never, backend: "none" as never })],
    ["run's sizes", (value) => run({ sizes: value as never, backend: "none" as never })],
    ["run's options", (value) => run({ ...(value as object), backend: "none" as never })],
    ["compare's baseline", (value) => compare({ baseline: value as never, candidate: "/dev/null/no" })],
    [
      "compare's thresholds",
      (value) => compare({ baseline: "a", candidate: "b", thresholds: value as never }),
    ],
    ["history's folder", (value) => history({ folder: value as never })],
    ["history's cells", (value) => history({ folder: "/dev/null/no", cells: value as never })],
  ];

  it.each(calls)("%s", async (_, call) => {
    const trial = countTrials("values given to the library");
    await fc.assert(
      fc.asyncProperty(hostileValue, async (value) => {
        trial.tries();
        const error = await call(value).then(
          () => new Error("it was accepted"),
          (error: unknown) => error,
        );
        expectRefusal(error, ["usage", "notComparable"]);
        trial.survives();
      }),
      runs(trials(40, 1000)),
    );
    expectNoPollution();
  });
});

const cell: fc.Arbitrary<Cell> = fc
  .record(
    {
      device: fc.nat(9999),
      direction: fc.constantFrom(...directions),
      memory: fc.constantFrom(...memories),
      sizeBytes: fc.nat({ max: 999_999_999_999_999 }),
      workers: fc.nat(999_999),
      mode: fc.constantFrom(...modes),
      cache: fc.constantFrom(...caches),
      workerKind: fc.constant("process" as const),
      together: fc.array(fc.nat(999), { minLength: 1, maxLength: 8 }),
      to: fc.record({ peer: fc.nat(9999), path: fc.constantFrom(...peerPaths) }),
      beside: fc.constantFrom(...besides.filter((beside) => beside !== "none")),
      chunks: fc.nat(999_999),
    },
    { requiredKeys: ["device", "direction", "memory", "sizeBytes", "workers", "mode", "cache"] },
  )
  .map(({ to, ...rest }) => ({ ...rest, ...to }));

/** Checks a property of many random values. */
function holds<Value>(values: fc.Arbitrary<Value>, check: (value: Value) => void): () => void {
  return () => {
    const trial = countTrials("settings written and read back");
    fc.assert(
      fc.property(values, (value) => {
        trial.tries();
        check(value);
        trial.survives();
      }),
      runs(trials(100, 10_000)),
    );
  };
}

const patternParts = fc.array(fc.constantFrom("a", "b", "*", "/", "."), { maxLength: 9 });
const idParts = fc.array(fc.constantFrom("a", "b", "/", "."), { maxLength: 9 });

describe("pinbench reads a setting exactly as it was written:", () => {
  it.each<[string, () => void]>([
    [
      "a size as tables have it",
      holds(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (bytes) =>
        expect(parseSize(formatSize(bytes))).toBe(bytes),
      ),
    ],
    [
      "a list of sizes, ascending and each once",
      holds(fc.array(fc.integer({ min: 1, max: 2 ** 40 }), { minLength: 1 }), (sizes) =>
        expect(readSizes(sizes.map(formatSize).join(" , "))).toEqual(
          [...new Set(sizes)].sort((a, b) => a - b),
        ),
      ),
    ],
    [
      "a range of sizes",
      holds(
        fc.record({ start: fc.integer({ min: 1, max: 4096 }), factor: fc.integer({ min: 2, max: 9 }) }),
        ({ start, factor }) => {
          const sizes = [0, 1, 2, 3].map((power) => start * factor ** power);
          expect(readSizes(`${start}..${sizes[3]}*${factor}`)).toEqual(sizes);
          expect(readSizes(`${start}..${start * 5}+${start}`)).toEqual([1, 2, 3, 4, 5].map((n) => n * start));
        },
      ),
    ],
    [
      "numbers of workers",
      holds(fc.uniqueArray(fc.integer({ min: 1, max: 2 ** 40 }), { minLength: 1 }), (counts) =>
        expect(readCounts(counts.join(), "workers")).toEqual([...counts].sort((a, b) => a - b)),
      ),
    ],
    ["a time", holds(fc.nat({ max: 2 ** 46 }), (ns) => expect(parseDuration(`${ns}ns`)).toBe(ns))],
    [
      "a share and a threshold",
      holds(fc.integer({ min: 1, max: 4999 }), (hundredths) => {
        const text = `${(hundredths / 100).toFixed(2)}%`;
        expect(parsePercent(text)).toBeCloseTo(hundredths / 1e4, 12);
        expect(parseThreshold(text)).toBeCloseTo(hundredths / 1e4, 12);
      }),
    ],
    ["the id of a cell", holds(cell, (one) => expect(parseCellId(cellId(one))).toEqual(one))],
    [
      "any text that is accepted as the id of a cell",
      holds(
        fc.tuple(cell, hostileText, fc.boolean()).map(([one, text, isOdd]) => (isOdd ? text : cellId(one))),
        (text) => {
          const accepted = acceptedBy(() => parseCellId(text));
          if (accepted !== null) expect(cellId(accepted.value)).toBe(text);
        },
      ),
    ],
    [
      "a pattern of cells, with the matches of the equal regular expression",
      holds(fc.tuple(patternParts, idParts), ([pattern, id]) => {
        const parts = pattern.map((one) => (one === "*" ? ".*" : one === "." ? "\\." : one));
        const isLike = new RegExp(`^${parts.join("")}$`).test(id.join(""));
        expect(matchesPattern(id.join(""), pattern.join(""))).toBe(isLike);
      }),
    ],
  ])("%s", (_, check) => check());
});

describe("a setting of 100 kB is read or refused within a second of CPU time:", () => {
  const long: [string, (length: number) => unknown][] = [
    ["digits of a size", (length) => parseSize("9".repeat(length))],
    ["decimals of a size", (length) => parseSize(`1.${"3".repeat(length)}KiB`)],
    ["blanks in a size", (length) => parseSize(`1${" ".repeat(length)}!`)],
    ["dots of a range", (length) => readSizes("..".repeat(length))],
    ["a range with many ends", (length) => readSizes(`1${"..2".repeat(length)}`)],
    ["a step with blanks", (length) => readSizes(`1..2+0${" ".repeat(length)}!`)],
    ["many ranges", (length) => readSizes("1..1*2,".repeat(length))],
    ["digits of a share", (length) => parsePercent(`0.${"0".repeat(length)}`)],
    ["a unit of time", (length) => parseDuration(`1${"s".repeat(length)}!`)],
    [
      "devices of a cell",
      (length) => parseCellId(`d0/h2d/pinned/1/w1/throughput/cold/together${"-1".repeat(length)}!`),
    ],
    [
      "a pattern of many parts",
      (length) => matchesPattern("a".repeat(length), `${"*a".repeat(length / 2)}*b`),
    ],
  ];

  it.each(long)("%s", (_, parse) => {
    const trial = countTrials("texts of 100 kB in a second each");
    trial.tries();
    const began = process.cpuUsage();
    acceptedBy(() => parse(100_000));
    const { user } = process.cpuUsage(began);
    expect(user / 1e6).toBeLessThan(1);
    trial.survives();
  });
});

it("a range of sizes is refused if it has more than the maximum number of sizes", () => {
  expect(() => readSizes(`1..${maxSizes + 1}+1`)).toThrow(PinbenchError);
});
