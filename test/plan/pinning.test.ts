import { describe, expect, it } from "vitest";
import { pinningSizes } from "../../src/plan/pinning-sizes.js";
import { GiB, MiB, planOf } from "./support.js";

/** Of a plan of these sizes in host memory. */
const sizesOf = (sizesBytes: readonly number[], maxPinnedBytes = 64 * GiB) =>
  pinningSizes(planOf({ sizesBytes, workers: [1], memory: ["pinned"] }).cells, maxPinnedBytes);

describe("the sizes at which allocating memory is timed", () => {
  it("are within the limit on pinned memory, and none without host memory", () => {
    expect(sizesOf([MiB, 64 * MiB], 32 * MiB)).toEqual([MiB]);
    expect(sizesOf([64 * MiB], 32 * MiB)).toEqual([]);
    expect(planOf({ sizesBytes: [MiB], directions: ["d2d"] }).pinningSizesBytes).toEqual([]);
  });
});
