import { describe, expect, it } from "vitest";
import { awaitsMoreRuns, compareResults, findSuspects } from "../../src/compare/compare-results.js";
import { describeOutcome } from "../../src/compare/report/outcome.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import type { DeviceRecord, ResultDocument } from "../../src/results/schema.js";
import { buildDevice, buildFailed, buildLink, type CellPart } from "../helpers/result-document.js";
import { buildRuns, compareRuns, comparisonRequest, documentAtSpeed } from "../helpers/runs.js";

/** GPUs with their rates: a and c are in a slot of full width, b and d in one of half the width. */
const gpus = { a: 50, b: 25, c: 50, d: 25 } as const;
type Gpu = keyof typeof gpus;

const slots = { a: "0000:06:00.0", b: "0000:07:00.0", c: "0000:06:00.0", d: "0000:07:00.0" };
const deviceOf = (gpu: Gpu, ordinal: number, part: Partial<DeviceRecord> = {}) =>
  buildDevice({ ordinal, uuid: `GPU-${gpu}`, pciBusId: slots[gpu], ...part });

/** Runs of GPUs in the order in which CUDA counts them. */
function runsOf(order: string, { seed = 1, part = () => ({}), speed = 1 }: RunsOf = {}): ResultDocument[] {
  const names = order.split("") as Gpu[];
  const all = names.map((_, device) => device);
  const cells = names.flatMap((gpu, device): CellPart[] => [
    { device, GBps: gpus[gpu] },
    ...(all.length === 1 ? [] : [{ device, GBps: gpus[gpu] * 0.9, workers: 2, together: all }]),
    ...all
      .filter((peer) => peer !== device)
      .map((peer): CellPart => {
        const GBps = 300 + gpus[gpu];
        return { device, direction: "p2p", memory: "device", peer, path: "read", GBps };
      }),
  ]);
  const devices = names.map((gpu, ordinal) => deviceOf(gpu, ordinal, part(gpu)));
  const runs = buildRuns({ cells, seed, speed, document: { devices } });
  return runs.map((run) => ({ ...run, cells: run.cells.map((cell) => ({ ...cell, link: null })) }));
}

interface RunsOf {
  seed?: number;
  part?: (gpu: Gpu) => Partial<DeviceRecord>;
  speed?: number;
}

const leftOut = (count: string) => [`${count} on one side only and not compared`];
const noUuid = () => ({ uuid: null });

describe("GPUs of two results are matched", () => {
  it.each<[string, ResultDocument[], ResultDocument[], object, number]>([
    ["by UUID, in another order", runsOf("ab"), runsOf("ba", { seed: 2 }), { outcome: "pass" }, 6],
    ["by UUID, one GPU of two", runsOf("ab"), runsOf("b", { seed: 2 }), { notes: leftOut("1 GPU is") }, 1],
    [
      "by UUID, with another GPU before it",
      runsOf("b"),
      runsOf("ab", { seed: 2 }),
      { notes: leftOut("1 GPU is") },
      1,
    ],
    ["by UUID, one in common", runsOf("ab"), runsOf("cb", { seed: 2 }), { notes: leftOut("2 GPUs are") }, 1],
    [
      "by UUID, with runs of another machine",
      [...runsOf("d"), ...runsOf("a")],
      runsOf("a", { seed: 2 }),
      {},
      1,
    ],
    ["by PCI address without a common UUID", runsOf("ab"), runsOf("dc", { seed: 2 }), { notes: [] }, 6],
    [
      "by PCI address without UUIDs",
      runsOf("ab", { part: noUuid }),
      runsOf("ba", { seed: 2 }),
      { notes: [] },
      6,
    ],
    [
      "by number without UUIDs and addresses",
      runsOf("ab", { part: () => ({ uuid: null, pciBusId: null }) }),
      runsOf("ab", { seed: 2 }),
      { notes: [] },
      6,
    ],
  ])("%s", (_, before, after, expected, count) => {
    const comparison = compareRuns(before, after);
    expect(comparison).toMatchObject({ outcome: "pass", ...expected });
    expect(comparison.cells.map(({ verdict }) => verdict)).toEqual(Array(count).fill("not slower"));
  });
});

describe("other GPUs than the baseline's", () => {
  it("are reported in the first line", () => {
    const first = (after: ResultDocument[]) => describeOutcome(compareRuns(runsOf("ab"), after));
    expect(first(runsOf("dc", { seed: 2 }))).toMatch(/^Another GPU of the same model\. Nothing is slower/);
    expect(first(runsOf("dc", { speed: 0.8 }))).toMatch(/^Another GPU of the same model\. Slower: /);
    expect(first(runsOf("ba", { seed: 2 }))).toMatch(/^Nothing is slower/);
    expect(first(runsOf("cb", { seed: 2 }))).toMatch(/^Nothing is slower/);
  });

  it.each<[string, ResultDocument[], string]>([
    ["of another model", runsOf("dc", { part: () => ({ name: "NVIDIA L4" }) }), "GPU"],
    ["in another number", runsOf("c"), "number of GPUs"],
    [
      "at a link of another width",
      runsOf("dc", { part: () => ({ link: buildLink({ width: 8 }) }) }),
      "link under load",
    ],
  ])("are not comparable %s", (_, after, fact) => {
    const { outcome, differences } = compareRuns(runsOf("ab"), after);
    expect(outcome).toBe("not comparable");
    expect(differences.filter(({ blocks }) => blocks).map((one) => one.fact)).toEqual([fact]);
  });

  it("are not reported if the candidate has some of the baseline's two models, in any order", () => {
    const part = (gpu: Gpu) => (gpu === "b" ? { name: "NVIDIA L4" } : {});
    for (const order of ["ba", "a", "b"]) {
      expect(compareRuns(runsOf("ab", { part }), runsOf(order, { part, seed: 2 })).outcome).toBe("pass");
    }
  });
});

describe("a GPU that has another number now", () => {
  it("is compared with its own link, which may have lost lanes", () => {
    const part = (gpu: Gpu) => (gpu === "a" ? { link: buildLink({ width: 8 }) } : {});
    const after = runsOf("ba", { seed: 2, part });
    const { linkLosses, outcome } = compareRuns(runsOf("ab"), after);
    expect(outcome).toBe("regression");
    expect(linkLosses).toMatchObject([{ device: 0, runs: 5, candidate: { width: 8 } }]);
  });

  it("is measured again by its present number", () => {
    const isOfA = ({ device, together, peer }: CellResult) => device === 1 && !together && peer === undefined;
    const after = runsOf("ba").map((run) => documentAtSpeed(run, 0.5, isOfA));
    const suspects = findSuspects(comparisonRequest(runsOf("ab"), after, { command: "check" }));
    expect(suspects.ids).toEqual([plainId(0)]);
    expect(suspects.ownIds).toEqual([plainId(1)]);
    const fresh = after.map((run) => ({ ...run, cells: run.cells.filter(isOfA) }));
    const request = comparisonRequest(runsOf("ab"), after, { command: "check", fresh });
    const comparison = compareResults({ ...request, suspects: suspects.ids });
    const slower = comparison.cells.filter(({ verdict }) => verdict === "slower");
    expect(slower).toMatchObject([{ id: plainId(0), candidate: { runs: 5 } }]);
    expect(awaitsMoreRuns({ ...request, suspects: suspects.ids })).toBe(false);
  });

  it("fails the comparison with its failed cells, even if the baseline lacks the GPU", () => {
    const failed = buildFailed({ device: 0 }, "CUDA", "lost");
    const after = runsOf("cb", { seed: 2 }).map((run) => ({
      ...run,
      cells: [failed, ...run.cells.filter(({ id }) => id !== failed.id)],
    }));
    const { outcome, notes } = compareRuns(runsOf("ab"), after);
    expect(outcome).toBe("failed");
    expect(notes).toContain(`${failed.id}: it failed: lost`);
  });
});

const plainId = (device: number) => `d${device}/h2d/pinned/16777216/w1/throughput/cold`;
