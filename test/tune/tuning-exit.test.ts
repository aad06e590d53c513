import { describe, expect, it } from "vitest";
import { PinbenchError } from "../../src/errors.js";
import { usualSetting } from "../../src/results/loader-setting.js";
import type { Tuning } from "../../src/results/tuning.js";
import { hasScore, tuningExitCode } from "../../src/tune/tune-loader.js";
import { buildFailure, buildTried, buildTuning, type TuningPart } from "../helpers/tuning.js";

const two = usualSetting(2, false);

/** The error of a tuning that has recommended nothing, unless it has. */
function errorOf(part: TuningPart): PinbenchError {
  try {
    tuningExitCode(buildTuning({ recommendation: null, ...part }));
  } catch (error) {
    if (error instanceof PinbenchError) return error;
  }
  throw new Error("there was none");
}

describe("a search ends", () => {
  it("with exit code 0 if it recommends a setting, and with an error if its probe failed", () => {
    expect(tuningExitCode(buildTuning())).toBe(0);
    const recommendation: Partial<NonNullable<Tuning["recommendation"]>> = {};
    expect(errorOf({ recommendation, run: { error: "The device is gone." } })).toMatchObject({
      ...{ kind: "measurement", message: "The search could not go on: The device is gone." },
    });
  });

  it("with the first failure, its hint and its traceback, if nothing could be measured", () => {
    const first = buildFailure({ message: "It raised.", hint: "Mend it.", traceback: "  File a.py" });
    const tried = [
      buildTried(two, null),
      buildTried(two, null, { failure: first }),
      buildTried(two, null, { failure: buildFailure({ message: "It hung." }) }),
    ];
    const error = errorOf({ tried });
    expect(error).toMatchObject({ message: "No setting could be measured: It raised.", hint: "Mend it." });
    expect(error.cause).toMatchObject({ message: "  File a.py" });
    const plain = buildTried(two, null, { failure: buildFailure({ hint: null }) });
    expect(errorOf({ tried: [plain] }).hint).toBeNull();
    expect(errorOf({ tried: [plain] }).cause).toBeUndefined();
  });

  it("with the reason why all settings were skipped, or with too short a time as the reason", () => {
    const skipped = [{ setting: two, reason: "it needs 9 GiB of memory" }];
    expect(errorOf({ tried: [], skipped })).toMatchObject({
      ...{
        message: "No setting could be measured: it needs 9 GiB of memory.",
        hint: "Take smaller batches.",
      },
    });
    for (const part of [{ tried: [] }, { tried: [buildTried(two, null)], skipped }]) {
      expect(errorOf(part).message).toContain("too few batches arrived within the budget");
    }
  });
});

it("a search has a score once a single setting has one", () => {
  expect(hasScore(buildTuning({ tried: [buildTried(two, null), buildTried(two, 9)] }))).toBe(true);
  expect(hasScore(buildTuning({ tried: [buildTried(two, null)] }))).toBe(false);
});
