import { describe, expect, it } from "vitest";
import { given } from "./opened.js";
import { type Changes, skipWithoutTorch } from "./support.js";

/*
 * What the Python program makes of many data sets, in one process for all of them: importing torch takes a second each
 * time. How facts, refusals and trials reach pinbench is seen in the other files.
 */

skipWithoutTorch();

const fine = (batches: number) => ({ failure: null, batches });

describe("a data set is refused for", () => {
  it.each(
    (
      [
        ["a missing name", "data_sets.py:nope", {}, "usage", /name 'nope' is not defined\.$/],
        [
          "a collate function that fails",
          "faulty.py:raising_as_it_collates",
          {},
          "measurement",
          /IndexError: /,
        ],
        ["data without a batch", "faulty.py:Nothing", { batchSize: 2 }, "measurement", /gives no batch\.$/],
      ] as [what: string, name: string, changes: Changes, kind: string, message: RegExp][]
    ).map(([what, name, changes, ...refusal]) => [what, given(name, changes), ...refusal] as const),
  )("%s", (_what, answer, kind, message) => {
    expect(answer().refusal).toEqual([kind, expect.stringMatching(message)]);
  });
});

describe("a DataLoader", () => {
  const loader = given("data_sets.py:make_loader", {}, [1, 20]);
  it("has its settings taken as the search's starting point", () => {
    const { facts, trials } = loader();
    expect(facts).toMatchObject({
      batch: { samples: 6 },
      epochBatches: 16,
      startingPoint: {
        numWorkers: 3,
        pinMemory: true,
        prefetchFactor: 4,
        persistentWorkers: false,
        nonBlocking: false,
      },
    });
    expect(trials).toEqual([fine(20)]);
  });

  const failingInit = given("faulty.py:raising_in_worker_init", {}, [1, 200]);
  it("fails if its worker_init_fn does", () => {
    expect(failingInit().trials[0]?.failure).toMatchObject({
      fault: "dataset-raised",
      message: expect.stringContaining("no shard for"),
    });
  });

  const unsendable = given("faulty.py:unsendable", {}, [1, 200]);
  it("fails if a worker cannot send its batches", () => {
    expect(unsendable().trials[0]?.failure).toMatchObject({
      fault: "not-picklable",
      message: "A worker cannot send its batch: TypeError: cannot pickle '_thread.lock' object.",
    });
  });
});

describe("an IterableDataset", () => {
  const stream = given("data_sets.py:Stream", { batchSize: 2 }, [2, 12]);
  const sharded = given("data_sets.py:make_stream_loader", { kwargs: { length: 1 } }, [1, 3]);
  it("restarts when it ends, and the user's worker_init_fn sees the original", () => {
    expect(stream().facts).toMatchObject({ batch: { samples: 2, bytes: 32 }, epochBatches: null });
    expect(stream().trials).toEqual([fine(12)]);
    expect(sharded().trials).toEqual([fine(3)]);
  });

  const once = given("faulty.py:Once", { batchSize: 2 }, [1, 200]);
  it("ends the trial if it is empty the second time", () => {
    expect(once().trials[0]?.failure).toMatchObject({
      fault: "data-ended",
      message: "The data ended after 5 batches, and gave nothing when it was restarted.",
    });
  });

  const notInWorkers = given("faulty.py:NotInWorkers", { batchSize: 2 }, [1, 20], [0, 20]);
  it("is reported if it yields no batch in a worker, but some without workers", () => {
    const [inWorker, inMain] = notInWorkers().trials;
    expect(inWorker?.failure).toMatchObject({
      fault: "data-ended",
      message: "The data set gives no batch in a worker.",
      everywhere: false,
    });
    expect(inMain).toEqual(fine(20));
  });
});

describe("batches", () => {
  const holder = given("data_sets.py:make_holders", {}, [1, 3]);
  it("of a class without pin_memory() are noted, as torch does not pin them", () => {
    const { facts, trials } = holder();
    expect(facts?.notes).toEqual([
      "Batches hold a Holder, which has no pin_memory(): torch silently does not pin it.",
    ]);
    expect(trials).toEqual([fine(3)]);
  });

  const meta = given("data_sets.py:Meta", { batchSize: 2 }, [0, 3]);
  it("that are not in the CPU's memory make workers useless", () => {
    const { facts, trials } = meta();
    expect(facts?.workersOff).toBe("the batches are meta tensors");
    expect(facts?.pinningOff).not.toBeNull();
    expect(trials).toEqual([fine(3)]);
  });
});
