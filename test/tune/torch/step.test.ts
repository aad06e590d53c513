import { describe, expect, it } from "vitest";
import { openTorchProbe } from "../../../src/tune/torch/torch-probe.js";
import { openFor, options, skipWithoutTorch, target, until, workers } from "./support.js";

skipWithoutTorch();

const batchSize = 4;

describe("the user's own step", () => {
  it("is called with each batch, and timed alone", async () => {
    const probe = await openFor("data_sets.py:make", { batchSize, step: target("steps.py:step") });
    expect(probe.facts.stepNs).toBeGreaterThan(0);
    for (const setting of [workers(0), workers(1)]) {
      expect(await probe.measure(setting, until(5))).toMatchObject({ failure: null });
    }
  });

  it("that fails in a trial is named, with its line", async () => {
    const probe = await openFor("data_sets.py:make", { batchSize, step: target("steps.py:raising_later") });
    const { failure, arrivalsNs } = await probe.measure(workers(0), until(200));
    expect(failure).toMatchObject({
      fault: "step-raised",
      message: expect.stringMatching(/^The step failed: ValueError: no loss any more \(.*steps\.py:\d+\)\.$/),
    });
    expect(arrivalsNs.length).toBeGreaterThan(0);
  });

  it.each([
    [
      "steps.py:raising",
      "measurement",
      /fails on a batch: ValueError: no loss for 4 samples \(.*steps\.py:\d+\)\.$/,
    ],
    ["steps.py:NOT_A_FUNCTION", "usage", /NOT_A_FUNCTION is not a function\.$/],
  ])("is refused if it cannot be: %s", async (step, kind, message) => {
    const opening = openTorchProbe(options("data_sets.py:make", { batchSize, step: target(step) }));
    await expect(opening).rejects.toMatchObject({ kind, message: expect.stringMatching(message) });
  });
});
