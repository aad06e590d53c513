import { describe, expect, it } from "vitest";
import { findLinkLosses } from "../../src/compare/differences.js";
import type { DeviceLink, RunFigures } from "../../src/compare/result-set.js";

const gpu = (device: number, link: Partial<DeviceLink> = {}): DeviceLink => ({
  ...{ device, uuid: `GPU-${device}`, pciBusId: `0000:0${device}:00.0`, generation: 5, width: 16 },
  ...link,
});
const runs = (...links: DeviceLink[][]) => links.map((ofRun) => ({ links: ofRun }) as RunFigures);

const whole = runs([gpu(0), gpu(1)], [gpu(0), gpu(1)], [gpu(0), gpu(1)]);

describe("a narrower or slower link", () => {
  it("is one device's, in the runs that had it, with the worst one", () => {
    const candidate = runs(
      [gpu(0), gpu(1, { width: 8 })],
      [gpu(0), gpu(1, { generation: 3 })],
      [gpu(0), gpu(1)],
      // One that does not tell is none of them.
      [gpu(0), gpu(1, { width: null })],
    );
    expect(findLinkLosses(whole, candidate)).toEqual([
      {
        ...{ device: 1, runs: 2, of: 3 },
        baseline: { generation: 5, width: 16 },
        // Two generations less are a quarter.
        candidate: { generation: 3, width: 16 },
      },
    ]);
    expect(findLinkLosses(whole, whole)).toEqual([]);
    // Half the lanes, each twice as fast, are narrower all the same.
    expect(findLinkLosses(runs([gpu(0, { generation: 4 })]), runs([gpu(0, { width: 8 })]))).toHaveLength(1);
  });

  it("is less than in most of the baseline's runs", () => {
    const [wide, narrow] = [[gpu(0)], [gpu(0, { width: 8 })]];
    expect(findLinkLosses(runs(wide, wide, narrow), runs(narrow))).toHaveLength(1);
    expect(findLinkLosses(runs(wide, narrow, narrow), runs(narrow))).toEqual([]);
    expect(findLinkLosses(runs(wide, narrow), runs(narrow))).toHaveLength(1);
  });

  it.each([
    ["generation", { generation: null }],
    ["width", { width: null }],
  ])("is not known without its %s", (_, unknown) => {
    expect(findLinkLosses(runs([gpu(0)]), runs([gpu(0, { width: 4, generation: 1, ...unknown })]))).toEqual(
      [],
    );
    expect(findLinkLosses(runs([gpu(0, unknown)]), runs([gpu(0, { width: 4, generation: 1 })]))).toEqual([]);
  });

  it.each<[string, Partial<DeviceLink>]>([
    ["is another GPU", { uuid: "GPU-9" }],
    ["is in another slot", { pciBusId: "0000:09:00.0" }],
    ["has no known name", { uuid: null }],
    ["has no known slot", { pciBusId: null }],
  ])("is no loss of a device that %s", (_, other) => {
    expect(findLinkLosses(runs([gpu(0)]), runs([gpu(0, { width: 8, ...other })]))).toEqual([]);
    expect(findLinkLosses(runs([gpu(0, other)]), runs([gpu(0, { width: 8, ...other })]))).toHaveLength(
      other.uuid === null || other.pciBusId === null ? 0 : 1,
    );
  });
});
