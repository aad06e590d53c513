import { describe, expect, it } from "vitest";
import { pinningSizes } from "../../src/plan/duration.js";
import { GiB, MiB, planOf } from "./support.js";

/** Of a plan of these sizes in host memory. */
const sizesOf = (sizesBytes: readonly number[], maxPinnedBytes = 64 * GiB) =>
  pinningSizes(planOf({ sizesBytes, workers: [1], memory: ["pinned"] }).cells, maxPinnedBytes);

describe("the sizes at which obtaining memory is timed", () => {
  it("are all of a few, ascending and each once", () => {
    expect(sizesOf([4 * MiB, MiB, 2 * MiB])).toEqual([MiB, 2 * MiB, 4 * MiB]);
  });

  it("are six of many, the ends among them", () => {
    const sizes = sizesOf(Array.from({ length: 81 }, (_, i) => (i + 1) * MiB));
    expect(sizes.map((bytes) => bytes / MiB)).toEqual([1, 17, 33, 49, 65, 81]);
  });

  it("end if a size takes seconds, except for the smallest", () => {
    expect(sizesOf([MiB, 256 * MiB, GiB])).toEqual([MiB, 256 * MiB]);
    expect(sizesOf([2 * GiB, GiB])).toEqual([GiB]);
  });

  it("are no larger than what may be pinned, and none without host memory", () => {
    expect(sizesOf([MiB, 64 * MiB], 32 * MiB)).toEqual([MiB]);
    expect(sizesOf([64 * MiB], 32 * MiB)).toEqual([]);
    expect(planOf({ sizesBytes: [MiB], directions: ["d2d"] }).pinningSizesBytes).toEqual([]);
  });
});
