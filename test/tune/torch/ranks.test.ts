import { afterAll, expect, it, onTestFinished } from "vitest";
import { openRankedProbe } from "../../../src/tune/ranked-probe.js";
import { openTorchProbe } from "../../../src/tune/torch/torch-probe.js";
import { limitsOf } from "../../helpers/tune.js";
import { expectNothingLeft, options, skipWithoutTorch, temporaryFolder, until, workers } from "./support.js";

skipWithoutTorch();

it("ranks are processes that make batches at the same time, each with its number in its environment", async () => {
  const kwargs = { folder: temporaryFolder() };
  const of = options("data_sets.py:MeetingRanks", { batchSize: 2, kwargs });
  const open = (index: number) => openTorchProbe({ ...of, rank: { index, count: 2 } });
  const probe = await openRankedProbe(limitsOf({ ranks: 2 }), open, of.signal);
  onTestFinished(() => probe.close());
  expect(probe.facts.processBytes).toBeGreaterThan(1e6);
  expect(probe.facts.notes).toEqual([]);
  const trial = await probe.measure(workers(1), until(5));
  expect(trial).toMatchObject({ failure: null, aborted: false });
  expect(trial.arrivalsNs.length).toBeGreaterThanOrEqual(5);
});

afterAll(expectNothingLeft, 60_000);
