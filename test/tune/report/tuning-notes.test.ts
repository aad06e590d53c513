import { describe, expect, it } from "vitest";
import { fileScreen } from "../../../src/draw/screen.js";
import { emulatedNote, emulatedNotice } from "../../../src/results/device-facts.js";
import { usualSetting } from "../../../src/results/loader-setting.js";
import type { Tuning } from "../../../src/results/tuning.js";
import { tuningKind } from "../../../src/tune/report/tuning-formats.js";
import { drawn } from "../../helpers/drawn.js";
import { buildFailure, buildTrial, buildTried, buildTuning, type TuningPart } from "../../helpers/tuning.js";

/* The notes on the table of a tuning. */

const textOf = (part: TuningPart) =>
  drawn(tuningKind, buildTuning(part), "table", fileScreen({ columns: 200 })).replaceAll(/\s+/g, " ");
const [eight, sixteen] = [usualSetting(8, false), usualSetting(16, false)];

/** A setting with these trials. */
const triedWith = (
  setting: typeof eight,
  rate: number | null,
  ...trials: Partial<Tuning["tried"][number]["trials"][number]>[]
) => ({ ...buildTried(setting, rate), trials: trials.map((trial) => buildTrial(trial)) });

describe("a setting that failed", () => {
  const failure = buildFailure({ message: "It raised.", hint: "Mend it." });

  it("shows its fault instead of a rate or beside one, whichever trial failed", () => {
    expect(textOf({ tried: [triedWith(sixteen, null, { failure }, {})] })).toContain(
      " 16 no 2 worker-killed ",
    );
    expect(textOf({ tried: [triedWith(sixteen, 72, { failure }, {})] })).toContain(" 72.0 ±1.0 % ! ");
    expect(textOf({ tried: [triedWith(sixteen, 72, {})] })).not.toContain("!");
  });

  it("is named once, with others that failed alike, unless the message names it alone", () => {
    const twice = triedWith(sixteen, null, { failure }, { failure });
    expect(textOf({ tried: [twice] })).toMatch(/(?<!and) 16 workers, not pinned: It raised\. Mend it\. /);
    const naming = buildFailure({ message: "With 16 workers, not pinned, it hung.", hint: null });
    expect(textOf({ tried: [triedWith(sixteen, null, { failure: naming })] })).not.toContain("pinned: With");
    const both = [sixteen, eight].map((setting) => triedWith(setting, null, { failure: naming }));
    expect(textOf({ tried: both })).toContain(
      " 16 workers, not pinned and 8 workers, not pinned: With 16 workers, not pinned, it hung. ",
    );
  });

  it("or has no rate is not marked as a rough figure", () => {
    expect(textOf({ tried: [triedWith(sixteen, null, {})] })).not.toContain("a rough figure");
  });
});

it("settings skipped for the same kind of reason share a line, and a single one has its own", () => {
  const reasons = ["it needs 3 GiB of memory", "it needs 4 GiB of memory"];
  const skipped = reasons.map((reason, i) => ({ setting: usualSetting(12 + i, false), reason }));
  expect(textOf({ skipped: skipped.slice(0, 1) })).toMatch(
    /12 workers, not pinned: it needs 3 GiB of memory (?!;)/,
  );
  expect(textOf({ skipped })).toContain("it needs 3 GiB of memory; and 1 more for the same reason");
});

it("an emulated device is reported only once", () => {
  const text = textOf({ probe: { notes: [emulatedNote, "another note"] } });
  expect(text).toContain(`! ${emulatedNotice}`);
  expect(text).toContain("another note");
  expect(text).not.toContain(emulatedNote);
});

it("a note reports samples that several workers delivered in any trial", () => {
  const copied = (workers: number, ...copies: (number | null)[]) =>
    triedWith(usualSetting(workers, false), 72, ...copies.map((sampleCopies) => ({ sampleCopies })));
  const text = "one that several deliver counts once";
  expect(textOf({ tried: [copied(8, 8, null), copied(4, 1)] })).toContain(text);
  expect(textOf({ tried: [copied(8, 1, null)] })).not.toContain(text);
});
