import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { probeProgram } from "../../../src/tune/torch/probe-process.js";
import { openTorchProbe } from "../../../src/tune/torch/torch-probe.js";
import { openFor, options, printedBy, skipWithoutTorch, target, until, workers } from "./support.js";

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
    ["steps.py:nope", "usage", /steps\.py has no 'nope'\.$/],
    ["steps.py", "usage", /does not say where the step is\.$/],
  ])("is refused if it cannot be: %s", async (step, kind, message) => {
    const opening = openTorchProbe(options("data_sets.py:make", { batchSize, step: target(step) }));
    await expect(opening).rejects.toMatchObject({ kind, message: expect.stringMatching(message) });
  });
});

it("is given copies in containers like the batch's own", async () => {
  const program = `
import collections, sys, torch
sys.path.append(${JSON.stringify(dirname(probeProgram))})
from pinbench_probe.batch import copy
Pair = collections.namedtuple("Pair", "left right")
batch = {"images": torch.zeros(2), "pair": Pair(torch.ones(1), "name"), "list": [torch.ones(1), 3]}
there = copy(batch, "meta", False)
print(type(there).__name__, type(there["pair"]).__name__, there["pair"].right, type(there["list"]).__name__)
print(there["images"].device, there["pair"].left.device, there["list"][0].device, there["list"][1])`;
  const said = printedBy(["-B", "-c", program]);
  expect(said).toBe("dict Pair name list\nmeta meta meta 3\n");
});
