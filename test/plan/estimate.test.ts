import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Plan, retimed } from "../../src/plan/plan.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { facts, h200, MiB, planOf } from "./support.js";

/** The plan of a recorded result's cells, on the machine on which they were measured. */
function planOfRecord({ plan: recorded, cells, devices, host, coldStart }: ResultDocument): Plan {
  const ordinals = devices.map(({ ordinal }) => ordinal);
  const { budgetNs, precision, samplesPerCell, verify } = recorded!;
  const measured = cells.filter(({ outcome }) => outcome !== "skipped").map(({ id }) => id);
  return planOf(
    { cells: measured, budgetNs, precision, samplesPerCell, verify },
    {
      devices: devices.map((device) => ({
        ...h200,
        ordinal: device.ordinal,
        peers: ordinals.filter((ordinal) => ordinal !== device.ordinal),
      })),
      cpusUsable: host!.cpusAllowed.length,
      lastLevelCacheBytes: host!.lastLevelCacheBytes,
      memoryAvailableBytes: host!.memoryAvailableBytes,
      driverInitNs: coldStart[0]!.initNs,
    },
  );
}

describe("the estimate for a run that was recorded on a GPU", () => {
  // default.json and quick.json are of a state of pinbench that took fewer copies in a sample, and timed allocations once.
  it.each([
    "pinned.json",
    "fresh-process.json",
    "at-once-together.json",
    "at-once-beside.json",
    "every-copy.json",
  ])("is within a quarter of the time of %s", async (name) => {
    const path = fileURLToPath(new URL(`../../results/nvidia-h200/${name}`, import.meta.url));
    const record = parseResult(await readFile(path, "utf8"), name);
    const ratio = planOfRecord(record).estimate.durationNs / record.run.wallNs!;
    expect(ratio).toBeGreaterThan(0.75);
    expect(ratio).toBeLessThan(1.25);
  });
});

describe("the estimate on an emulated device", () => {
  const planned = planOf({ sizesBytes: [16 * MiB], workers: [1], samplesPerCell: 20 }, { emulated: true });
  const atSpeed = (firstTouchGBps: number, copyGBps: number) =>
    retimed(planned, { firstTouchGBps, copyGBps }, facts().driverInitNs).estimate;

  it("follows the speed of the host's memory", () => {
    const [slow, fast] = [atSpeed(0.5, 2), atSpeed(5, 20)];
    expect(slow.measuringNs / fast.measuringNs).toBeGreaterThan(2.5);
    expect(slow.setUpNs).toBeGreaterThan(fast.setUpNs);
  });

  it("is that of a usual machine if nobody has measured it", () => {
    expect(planned.estimate).toEqual(atSpeed(1.4, 14));
  });
});
