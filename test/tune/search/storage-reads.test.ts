import { expect, it } from "vitest";
import { readsStorage } from "../../../src/tune/search/rate.js";
import { evenly } from "../../helpers/tune.js";

const MiB = 2 ** 20;
const trial = (batches: number, storageReadBytes: number | null) => ({
  arrivalsNs: evenly(batches, 1e6),
  storageReadBytes,
});

it.each([
  ["all of 438 MiB came from storage", trial(175, 438 * MiB), 2.5 * MiB, true],
  ["pictures came from storage, 5 % of their batches' bytes", trial(100, 190 * MiB), 38 * MiB, true],
  ["a hundredth came from storage, as most is in the page cache", trial(100, 38 * MiB), 38 * MiB, false],
  ["no byte came from storage", trial(100, 0), 38 * MiB, false],
  ["the kernel does not report it", trial(100, null), 38 * MiB, false],
])("a trial counts as reading from storage ($3) if %s", (_where, one, batchBytes, expected) => {
  expect(readsStorage(one, { batch: { samples: 64, bytes: batchBytes, description: "" } })).toBe(expected);
});

it("bytes read from storage are compared with the files' size, if that is known", () => {
  const batch = { samples: 64, bytes: 38 * MiB, description: "" };
  expect(readsStorage(trial(10, 6 * MiB), { batch, fileBytesPerBatch: MiB })).toBe(true);
  expect(readsStorage(trial(10, 6 * MiB), { batch, fileBytesPerBatch: null })).toBe(false);
});
