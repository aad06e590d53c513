import { describe, expect, it } from "vitest";
import { PinbenchError, type TuneOptions, tune } from "../../src/index.js";
import { tuningSchema } from "../../src/results/tuning.js";

const small: TuneOptions = {
  backend: "emulated",
  sampleBytes: "4KiB",
  sampleCost: "100us",
  batchSize: 4,
  maxWorkers: 1,
  budget: "20s",
};

describe("tune()", () => {
  it("returns the document that --json prints", async () => {
    const tuning = await tune(small);
    expect(tuningSchema.parse(JSON.parse(JSON.stringify(tuning)))).toEqual(tuning);
    expect(tuning).toMatchObject({ run: { argv: [] }, method: { maxWorkers: 1 } });
    // Whether the search is done within its budget is for the machine to say.
    expect(["complete", "budget"]).toContain(tuning.run.status);
    expect(tuning.recommendation?.score.batchesPerSecond).toBeGreaterThan(0);
  });

  it("rejects where it is aborted before there is anything to return", async () => {
    await expect(tune({ ...small, signal: AbortSignal.abort() })).rejects.toThrow(PinbenchError);
  });

  it.each([
    [{}, /^There are no data/],
    [{ ...small, batchSize: 0 }, /^"0" is not a batch size/],
    [{ ...small, budget: "soon" }, /^"soon" is not a duration/],
    [{ ...small, workers: 4 }, /^There is no option workers/],
    [{ ...small, torch: "a.py:b" }, /^--sample-bytes has no effect with --torch/],
  ])("says what is wrong with %o", async (options, message) => {
    await expect(tune(options)).rejects.toMatchObject({
      kind: "usage",
      message: expect.stringMatching(message),
    });
  });
});
