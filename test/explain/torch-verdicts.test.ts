import { describe } from "vitest";
import { concludeLoaderPinMemory } from "../../src/explain/questions/loader-pin-memory.js";
import { concludeNonBlocking } from "../../src/explain/questions/non-blocking.js";
import { concludePinnedInAClass } from "../../src/explain/questions/pinned-in-a-class.js";
import {
  concludeTooManyWorkers,
  type WorkersRate,
  type WorkerTrials,
} from "../../src/explain/questions/too-many-workers.js";
import { concludeTorchRoundsUp } from "../../src/explain/questions/torch-rounds-up.js";
import type { TorchExperiments } from "../../src/explain/torch/program-messages.js";
import { expectVerdicts } from "./conclusions.js";

/* What the figures of the user's torch make of each claim. Those that come first are those of an H200's machine. */

const MiB = 2 ** 20;

/** 15 times whose median is `ns`, and which lie within `spread` (0.01 is 1 %) around it: up, and then down again. */
const timesAround = (ns: number, spread = 0.005) =>
  Array.from({ length: 15 }, (_, round) => ns * (1 + (spread * (round - 7)) / 7));
const ms = (time: number, spread?: number) => timesAround(time * 1e6, spread);

describe("loader-pin-memory: pin_memory makes a loader of small batches faster", () => {
  const usual = { batches: 79, pinned: ms(28.4), unpinned: ms(27), uncopied: ms(25.5) };
  const of = (changes: Partial<typeof usual>, gpuMissing: string | null = null) =>
    concludeLoaderPinMemory({ ...usual, ...changes }, gpuMissing);
  // Each round's epochs take longer than those of the round before, alike.
  const rounds = (time: number) => ms(time).map((ns, round) => ns * (round + 1));
  const slowing = { pinned: rounds(24), unpinned: rounds(27), uncopied: rounds(25.5) };
  const unsigned = { pinned: ms(27).reverse(), uncopied: ms(27.1) };
  const missing = "torch 2.11.0 of /usr/bin/python3 sees no GPU";

  expectVerdicts("loader-pin-memory", [
    ["it costs time", of({}), "not here"],
    ["rounds slow down, and it saves time within each", of(slowing), "true"],
    ["it saves next to nothing", of({ pinned: ms(26.9) }), "not here"],
    ["it saves time", of({ pinned: ms(24) }), "true"],
    ["it saves or costs", of({ pinned: ms(26.4, 0.1) }), "inconclusive"],
    ["it saves something, but perhaps too little", of({ pinned: ms(26.46) }), "inconclusive"],
    ["the difference is too small to have a sign", of(unsigned), "not here"],
    ["there is no GPU", of({ pinned: [], unpinned: [] }, missing), "inconclusive"],
    ["there is no GPU, and figures all the same", of({}, "torch sees no GPU"), "inconclusive"],
    ["no batch was copied", of({ pinned: [], unpinned: [] }), "inconclusive"],
  ]);
});

describe("non-blocking: non_blocking=True lets a copy overlap", () => {
  /** One stream makes a queue, and two let copies run beside a computation of 5 ms. */
  const usual: TorchExperiments["overlap"]["figures"] = {
    ...{ bytes: 64 * MiB, compute: ms(5), pinnedCopy: ms(1.2), pageableCopy: ms(4.8) },
    ...{ pinnedCall: ms(0.02), pageableCall: ms(4.7) },
    ...{ pinnedOneStream: ms(6.2), pageableOneStream: ms(9.7) },
    ...{ pinnedOwnStream: ms(5.1), pageableOwnStream: ms(9.6) },
  };
  const of = (changes: Partial<typeof usual>) => concludeNonBlocking({ ...usual, ...changes });
  const pageable = ms(5.2);

  expectVerdicts("non-blocking", [
    ["one stream makes a queue", of({}), "not here"],
    ["they overlap in one stream", of({ pinnedOneStream: ms(5.1) }), "true"],
    ["the intervals have the bound within", of({ pinnedOneStream: ms(5.6, 0.1) }), "inconclusive"],
    ["they hardly overlap", of({ pinnedOneStream: ms(5.8) }), "not here"],
    ["pageable copies overlap, and keep the CPU", of({ pageableOwnStream: pageable }), "not here"],
    ["they do not", of({ pageableOwnStream: pageable, pageableCall: ms(0.1) }), "not here"],
    ["whether pageable copies overlap is open", of({ pageableOwnStream: ms(7.4, 0.3) }), "not here"],
    ["no pinned copy overlaps", of({ pinnedOwnStream: ms(6.2) }), "not here"],
    ["whether one does is open", of({ pinnedOwnStream: ms(5.6, 0.1) }), "not here"],
    ["the copy is the longer part", of({ compute: ms(2), pageableOneStream: ms(6) }), "not here"],
    ["a call waits for its pinned copy", of({ pinnedCall: ms(1.2) }), "not here"],
    ["whether it waits is open", of({ pinnedCall: ms(0.6, 0.3) }), "not here"],
  ]);
});

describe("pinned-in-a-class: a pinned tensor is no faster in another process", () => {
  const bytes = 64 * MiB;
  /** Times of copies at rates around this many GB/s. */
  const at = (rate: number, spread?: number) => timesAround(bytes / rate, spread);
  const usual: TorchExperiments["sent"]["figures"] = {
    ...{ bytes, isPinnedBefore: true, isPinnedAfter: false, isPinnedInChild: false },
    ...{ isPinnedInObject: false, isPinnedRegistered: true, registerRefused: null },
    ...{ parentPinned: at(54.4), parentPageable: at(14.8), childPinned: at(14.6) },
    ...{ childInObject: at(14.6), childPageable: at(14.5), childRegistered: at(54.4) },
  };
  const of = (changes: Partial<typeof usual>) => concludePinnedInAClass({ ...usual, ...changes });
  const varying = { childInObject: at(14.6, 0.3), childPageable: at(14.5, 0.3) };
  // Between 1.7 and 4.6 times as fast before, and at least 1.2 times after.
  const before = { parentPinned: at(2.5, 0.8), parentPageable: at(1, 0.01) };
  const after = { childInObject: at(1.2, 0.02), childPageable: at(1, 0.01) };
  const pinned = { isPinnedInChild: true, isPinnedInObject: true, isPinnedAfter: true };
  const fast = { childPinned: at(54), childInObject: at(54), childRegistered: at(54) };
  const mayBeAlike = { parentPinned: at(15.2, 0.05), parentPageable: at(14.8, 0.05) };
  const apart = { childPinned: at(20), childPageable: at(10), childRegistered: at(40) };

  expectVerdicts("pinned-in-a-class", [
    ["the speed-up is lost", of({}), "true"],
    ["each rate is another one", of(apart), "true"],
    ["copies of what arrived vary a lot", of(varying), "true"],
    ["little is left only of the most that it may have been", of({ ...before, ...after }), "inconclusive"],
    ["it arrives pinned", of({ ...pinned, ...fast }), "not here"],
    ["pinning gains nothing in the first place", of({ parentPinned: at(14.8) }), "not here"],
    ["the interval is too wide", of({ childInObject: at(22, 0.3) }), "inconclusive"],
    ["too few rounds give none", of({ childInObject: at(14.6).slice(0, 3) }), "inconclusive"],
    ["there may have been no speed-up", of(mayBeAlike), "not here"],
    ["too few rounds show one", of({ parentPinned: at(54.4).slice(0, 3) }), "inconclusive"],
    ["what arrives unpinned is as fast", of({ childInObject: at(54) }), "not here"],
    ["it is pinned there", of({ isPinnedInChild: true, isPinnedInObject: true }), "true"],
    ["it is pinned but for the object", of({ isPinnedInChild: true, isPinnedAfter: true }), "true"],
    ["it is pinned in the object alone", of({ isPinnedInObject: true }), "true"],
    ["it stays pinned in the sender", of({ isPinnedAfter: true }), "true"],
    ["it was not pinned before", of({ isPinnedBefore: false }), "true"],
    ["registering is refused", of({ registerRefused: 801, childRegistered: [] }), "true"],
    ["registering does not help", of({ childRegistered: at(14.6) }), "true"],
    ["it does not even pin", of({ childRegistered: at(14.6), isPinnedRegistered: false }), "true"],
    ["whether registering helps is open", of({ childRegistered: at(16, 0.3) }), "true"],
  ]);
});

describe("torch-rounds-up: torch rounds pinned sizes up", () => {
  const usual: TorchExperiments["rounded"]["figures"] = {
    ...{ bytes: 17 * MiB, evenBytes: 16 * MiB, hasStatistics: true },
    ...{ pinned: Array(6).fill(32 * MiB), uneven: timesAround(12e6), even: timesAround(6e6) },
  };
  const of = (mebibytes: number[], changes: Partial<typeof usual> = {}) =>
    concludeTorchRoundsUp({ ...usual, pinned: mebibytes.map((size) => size * MiB), ...changes });

  expectVerdicts("torch-rounds-up", [
    ["it pins about twice as much", of(Array(6).fill(32), { even: timesAround(3e6) }), "true"],
    ["it pins the size", of([17.1, 17, 17, 16.9, 17, 17], { hasStatistics: false }), "not here"],
    ["the amounts differ too much", of([17, 32, 17, 32, 17, 32]), "inconclusive"],
    ["too few amounts give no interval", of([32]), "inconclusive"],
  ]);
});

describe("too-many-workers: too many workers compete", () => {
  /** A rate known to within this many batches a second. */
  const rate = (numWorkers: number, batchesPerSecond: number, spread = 5): WorkersRate => ({
    ...{ numWorkers, batchesPerSecond, batches: 400 + numWorkers },
    ...{ low: batchesPerSecond - spread, high: batchesPerSecond + spread },
  });
  const of = (rates: WorkersRate[], changes: Partial<WorkerTrials> = {}) =>
    concludeTooManyWorkers({ cpus: 16, rates, without: [], ...changes });
  const upToCores = [rate(0, 45), rate(8, 310), rate(16, 520)];
  const unknown = { ...rate(32, 300), low: 0, high: Number.POSITIVE_INFINITY };
  const open = [
    { ...rate(8, 50), high: Number.POSITIVE_INFINITY },
    { ...rate(16, 50), low: 0 },
  ];
  const without = ["32 workers, not pinned: batches in flight need 6.2 MiB of /dev/shm, and 2 MiB are free."];

  expectVerdicts("too-many-workers", [
    ["the most are slower than as many as CPUs", of([...upToCores, rate(32, 430)]), "true"],
    ["fewer are best", of([rate(0, 45), rate(8, 600), rate(16, 500), rate(32, 430)]), "true"],
    ["the most are as fast", of([...upToCores, rate(32, 521)]), "not here"],
    ["the most are the best", of([...upToCores, rate(32, 700)]), "not here"],
    ["the intervals do not decide it", of([...upToCores, rate(32, 500, 40)]), "inconclusive"],
    ["one interval is not known", of([...upToCores, unknown]), "inconclusive"],
    ["no interval is known", of(open), "inconclusive"],
    ["more workers than CPUs did not fit", of(upToCores, { without }), "inconclusive"],
    ["one worker is best of few", of([rate(0, 45), rate(1, 50), rate(32, 40)]), "true"],
    ["two are equal, and the rule of thumb was not tried", of([rate(8, 300), rate(32, 300)]), "not here"],
    ["there is one number", of([rate(0, 45)]), "inconclusive"],
    ["there is one number, and a reason", of([rate(0, 45)], { without: ["Why not."] }), "inconclusive"],
  ]);
});
