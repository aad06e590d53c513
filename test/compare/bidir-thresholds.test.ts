import { expect, it } from "vitest";
import { defaultThresholds } from "../../src/settings/thresholds.js";
import { MiB } from "../helpers/result-document.js";
import { buildRuns, compareRuns } from "../helpers/runs.js";

/** Both directions at once, at several sizes: a machine that has lost three tenths of each. */
function comparedWith(direction: Record<string, number>) {
  const cells = [4, 16, 64].map((MiBs) => ({
    ...({ direction: "bidir", memory: "pinned" } as const),
    ...{ sizeBytes: MiBs * MiB, GBps: { h2d: 10, d2h: 10, sum: 20 } },
  }));
  const runs = (speed: number, seed: number) => buildRuns({ cells, speed, seed, count: 10 });
  const thresholds = { ...defaultThresholds, direction };
  return compareRuns(runs(1, 1), runs(0.7, 2), { rule: { thresholds } });
}

it.each([
  [{ bidir: 0.05, h2d: 0.5, d2h: 0.5 }, 0.05, "slower"],
  [{ bidir: 0.5, h2d: 0.05, d2h: 0.05 }, 0.5, "not slower"],
])(
  "cells and groups of both directions at once have the threshold of these: %j",
  (direction, threshold, verdict) => {
    const { cells, groups } = comparedWith(direction);
    expect(cells.map((cell) => [cell.moved, cell.threshold, cell.verdict])).toEqual(
      [4, 16, 64].flatMap(() => ["h2d", "d2h", "sum"].map((moved) => [moved, threshold, verdict])),
    );
    const ids = [...new Set(cells.map(({ id }) => id))];
    expect(groups.map((group) => [group.moved, group.verdict, group.ids])).toEqual(
      ["h2d", "d2h", "sum"].map((moved) => [moved, verdict, ids]),
    );
  },
);
