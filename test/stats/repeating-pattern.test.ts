import { describe, expect, it } from "vitest";
import { periodicPattern, repeatingPattern } from "../../src/stats/repeating-pattern.js";
import { seeded } from "../helpers/seeded.js";

const repeated = (profile: readonly number[], count: number) =>
  Array.from({ length: count }, (_, i) => profile[i % profile.length]!);

describe("repeatingPattern", () => {
  it("has the distances of its phases to the level of a period", () => {
    const found = repeatingPattern(repeated([-1, 0, 1], 15), 3, 1)!;
    expect(found.profile).toEqual([-1, 0, 1]);
    // 13 values have a level. Ranks within phases of 4, 5 and 4 leave squares of 20 of 182, with 10 degrees of freedom.
    expect(found.share).toBeCloseTo(1 - (20 * 12) / (182 * 10), 12);
  });

  it("counts the two ends of an even period as one value", () => {
    const found = repeatingPattern(repeated([10, 11, 12, 15], 16), 4, 1)!;
    expect(found.profile).toEqual([-2, -1, 0, 3]);
    expect(found.share).toBeCloseTo(1 - (8 * 11) / (143 * 8), 12);
  });

  it("says nothing of a phase with fewer than three values that have a level", () => {
    expect(repeatingPattern(repeated([0, 1, 2, 5], 15), 4, 1)!.profile).toEqual([-2, null, 0, 3]);
  });

  it("keeps its level if a phase is never known", () => {
    const values = repeated([0, 1, 2, 5], 20).map((value, i) => (i % 4 === 1 ? null : value));
    const { profile } = repeatingPattern(values, 4, 1)!;
    expect(profile[1]).toBeNull();
    for (const [phase, distance] of [-7 / 3, null, -1 / 3, 8 / 3].entries())
      if (distance !== null) expect(profile[phase]).toBeCloseTo(distance, 12);
  });

  it("takes the other end of an even period if one is missing", () => {
    const values = repeated([0, 1, 2, 5], 24).map((value, i) => (i === 9 ? null : value));
    expect(repeatingPattern(values, 4, 1)!.profile).toEqual([-2, -1, 0, 3]);
  });

  it("follows a level that changes", () => {
    const values = repeated([-1, 0, 1], 30).map((value, i) => value + 2 * i);
    expect(repeatingPattern(values, 3, 1)!.profile).toEqual([-1, 0, 1]);
  });

  it("has a p-value for which neighbours that are alike count less", () => {
    // The ranks' residuals have a lag-1 correlation of 15 / 20: means are 7 times as uncertain; an average of three leaves
    // 11/18 of the variance. F = 81 / 2 * 11/18 / 7 = 3.536 of 2 and 10 degrees of freedom: (1 + 2 F / 10)^-5 = 0.06897.
    const values = repeated([-1, 0, 1], 15);
    expect(repeatingPattern(values, 3, 0.0691)).not.toBeNull();
    expect(repeatingPattern(values, 3, 0.0688)).toBeNull();
  });

  it("is none if the phase explains less than half, however much chance is allowed", () => {
    expect(repeatingPattern(seeded(1).normals(60), 5, 1)).toBeNull();
    const noise = seeded(1).normals(300);
    const withNoise = (deviation: number) =>
      repeatingPattern(
        repeated([-1, 0, 1], 300).map((value, i) => value + deviation * noise[i]!),
        3,
        1,
      );
    expect(withNoise(1)!.share).toBeLessThan(0.6);
    expect(withNoise(1.1)).toBeNull();
  });

  it("is none of values that are too few, or missing", () => {
    expect(repeatingPattern(repeated([-1, 0, 1], 8), 3, 1)).toBeNull();
    expect(repeatingPattern(Array<null>(30).fill(null), 3, 1)).toBeNull();
    const onePhase = repeated([-1, 0, 1], 30).map((value, i) => (i % 3 === 0 ? value : null));
    expect(repeatingPattern(onePhase, 3, 1)).toBeNull();
  });
});

describe("periodicPattern", () => {
  it("has the shortest period of those that explain almost as much", () => {
    const noise = seeded(4).normals(60);
    const values = repeated([-10, 0, 10], 60).map((value, i) => value + noise[i]!);
    expect(periodicPattern(values, 1e-4)).toMatchObject({ period: 3 });
    // Half of such a course repeats itself after three values, and all of it after six.
    const twice = repeated([-10, 0, 10, -10, 0, 40], 60).map((value, i) => value + noise[i]!);
    expect(repeatingPattern(twice, 3, 1e-4)).not.toBeNull();
    expect(periodicPattern(twice, 1e-4)).toMatchObject({ period: 6 });
  });

  it("has a period that the values show four times", () => {
    expect(periodicPattern(repeated([-1, 0, 1], 12), 1)).toMatchObject({ period: 3 });
    expect(periodicPattern(repeated([-1, 0, 1], 11), 1)).toBeNull();
  });

  it("has a period of 30 at most", () => {
    const turn = (period: number) => seeded(3).normals(period);
    expect(periodicPattern(repeated(turn(30), 160), 1e-4)).toMatchObject({ period: 30 });
    expect(periodicPattern(repeated(turn(31), 160), 1e-4)).toBeNull();
  });

  it("divides the chance by the number of periods that are tried", () => {
    // Period 3 in 15 values is the only one: as above. 16 values have two, and p = (1 + 2 * 3.025 / 11)^-5.5 = 0.08978.
    const values = repeated([-1, 0, 1], 16);
    expect(periodicPattern(values.slice(0, 15), 0.0691)).not.toBeNull();
    expect(periodicPattern(values.slice(0, 15), 0.0688)).toBeNull();
    expect(periodicPattern(values, 0.18)).not.toBeNull();
    expect(periodicPattern(values, 0.179)).toBeNull();
  });

  it("reads the newest 300 values, and begins at the first one's phase", () => {
    const profile = [-2, -1, 0, 1, 2];
    for (const older of [1, 3]) {
      const values = repeated(profile, 300 + older);
      for (let i = 0; i < older; ++i) values[i] = 1e6;
      expect(periodicPattern(values, 1e-4)).toMatchObject({ period: 5, profile });
    }
  });

  it("is none of plain noise, or of no values", () => {
    expect(periodicPattern(seeded(2).normals(100), 1e-4)).toBeNull();
    expect(periodicPattern([], 1e-4)).toBeNull();
  });
});
