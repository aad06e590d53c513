import { describe, expect, it } from "vitest";
import { hostRates, joinRuns } from "../../src/compare/series.js";
import { buildDevice, type CellPart } from "../helpers/result-document.js";
import { buildRuns, compareRuns, documentAtSpeed, resultSet } from "../helpers/runs.js";
import { seeded } from "../helpers/seeded.js";

/** The host's own copies next to each of two devices, of which the second one's node is twice as fast. */
const cellsOf = (device: number): CellPart[] =>
  [1, 2].map((workers) => ({ device, memory: "host", workers, GBps: 10 * (device + 1) }));
const both = [...cellsOf(0), ...cellsOf(1)];
const document = {
  devices: [0, 1].map((ordinal) => buildDevice({ ordinal, name: "NVIDIA T4", uuid: `GPU-${ordinal}` })),
};

/** Runs in which the cells of one device are noisier than those of the other. */
function runsWithNoise(noisy: number) {
  const { normal } = seeded(3);
  return buildRuns({ cells: both, count: 6, deviation: 0.001, document }).map((run) =>
    both.reduce(
      (one, _, i) =>
        documentAtSpeed(
          one,
          Math.exp(0.05 * normal()),
          ({ id, device }) => device === noisy && id === run.cells[i]!.id,
        ),
      run,
    ),
  );
}

describe("the host's rate of two devices", () => {
  it("is each one's own, of its own cells", () => {
    const { runs } = resultSet(buildRuns({ cells: both, deviation: 0, document }));
    const { logSpeeds } = hostRates([runs]);
    for (const run of runs) {
      expect(Math.exp(logSpeeds.get(run)!.get(0)!)).toBeCloseTo(10, 6);
      expect(Math.exp(logSpeeds.get(run)!.get(1)!)).toBeCloseTo(20, 6);
    }
  });

  it("goes with the figures of its device, also if suspects alone were measured again", () => {
    const copies: CellPart = { device: 1, memory: "pageable", GBps: 5 };
    const runsOf = (cells: CellPart[]) => resultSet(buildRuns({ cells, deviation: 0, document })).runs;
    const [baseline, first, fresh] = [runsOf([...both, copies]), runsOf([...both, copies]), runsOf([copies])];
    const figures = joinRuns({ baseline, first, fresh }).series.at(-1)!;
    const ratesOf = (group: "baseline" | "first" | "fresh") =>
      figures[group].map(({ hostLogSpeed }) => hostLogSpeed && +Math.exp(hostLogSpeed).toFixed(6));
    for (const group of ["baseline", "first"] as const) expect(ratesOf(group)).toEqual(Array(5).fill(20));
    expect(ratesOf("fresh")).toEqual(Array(5).fill(null));
  });

  it.each([0, 1])("has the error of the one if it is larger, here of device %d", (noisy) => {
    const { runs } = resultSet(runsWithNoise(noisy));
    const errorOf = (...devices: number[]) => {
      const some = runs.map((run) => ({
        ...run,
        cells: run.cells.filter(({ cell }) => devices.includes(cell.device)),
      }));
      return hostRates([some]).errorVariance;
    };
    expect(errorOf(noisy)).toBeGreaterThan(10 * errorOf(1 - noisy));
    expect(errorOf(0, 1)).toBe(errorOf(noisy));
  });
});

describe("the host's memory next to two devices", () => {
  const compared = (cells: readonly CellPart[], speedOf: (device: number) => number) => {
    const [before, after] = [1, 2].map((seed) => buildRuns({ cells, deviation: 0.02, seed, document }));
    const slowed = after!.map((run) =>
      [0, 1].reduce(
        (one, device) => documentAtSpeed(one, speedOf(device), (cell) => cell.device === device),
        run,
      ),
    );
    return compareRuns(before!, slowed).cells;
  };

  it("is judged device by device", () => {
    const cells = compared(both, (device) => (device === 0 ? 0.2 : 1));
    expect(cells.map(({ device, verdict }) => `${device} ${/^(probably )?slower$/.test(verdict)}`)).toEqual([
      ...["0 true", "0 true", "1 false", "1 false"],
    ]);
  });

  it("counts as two tests, and with one device as one", () => {
    const timesAsLikely = (cells: readonly CellPart[]) =>
      compared(cells, () => 0.97).map(
        ({ adjustedPValue, candidate }) => adjustedPValue! / candidate!.pValue!,
      );
    for (const times of timesAsLikely(both)) expect(times).toBeCloseTo(2, 9);
    for (const times of timesAsLikely(cellsOf(0))) expect(times).toBeCloseTo(1, 9);
  });
});
