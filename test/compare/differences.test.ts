import { describe, expect, it } from "vitest";
import { findDifferences, findLinkLosses } from "../../src/compare/differences.js";
import { buildCell, buildDevice, type DocumentPart, GiB, MiB } from "../helpers/result-document.js";
import { buildRuns, resultSet } from "../helpers/runs.js";

const runsOf = (document: DocumentPart, count = 2) => resultSet(buildRuns({ document, count })).runs;
const strictly = { allowMismatch: false };
const differencesOf = (before: DocumentPart, after: DocumentPart, allowMismatch = false) =>
  findDifferences(runsOf(before), runsOf(after), { allowMismatch });
const shown = { blocks: false, isOverruled: false };
const blocking = { blocks: true, isOverruled: false };
const [gen5x16, gen4x16, gen5x8] = [
  [5, 16],
  [4, 16],
  [5, 8],
].map(([generation, width]) => {
  const link = { ...buildDevice().link!, generation: generation!, width: width! };
  return { devices: [buildDevice({ link })] };
});
const link8 = gen5x8!.devices[0]!.link;
const atX8InSlot = (pciBusId: string | null) => ({ devices: [buildDevice({ link: link8, pciBusId })] });
const otherGpu = { devices: [buildDevice({ name: "NVIDIA L4" })] };

it("equal machines differ in nothing", () => {
  expect(differencesOf({}, {})).toEqual([]);
});

describe("another machine of the same kind", () => {
  const { uuid, pciBusId } = buildDevice();
  const otherMachine = { ...shown, isOtherMachine: true };
  const hostName = { fact: "host name", baseline: "node-1", candidate: "node-2" };

  it("is named, and never blocks", () => {
    const twin = {
      host: { hostname: "node-2" },
      devices: [buildDevice({ uuid: "GPU-2", pciBusId: "0000:1b:00.0" })],
    };
    expect(differencesOf({}, twin)).toEqual([
      { ...hostName, ...shown },
      { fact: "GPU UUID", baseline: uuid, candidate: "GPU-2", ...otherMachine },
      { fact: "PCI address", baseline: pciBusId, candidate: "0000:1b:00.0", ...shown },
    ]);
  });

  it("is the same one under another name, or with its GPU in another slot", () => {
    expect(differencesOf({}, { host: { hostname: "node-2" } })).toEqual([{ ...hostName, ...shown }]);
    const moved = { devices: [buildDevice({ pciBusId: "0000:1b:00.0" })] };
    expect(differencesOf({}, moved)).toEqual([
      { fact: "PCI address", baseline: pciBusId, candidate: "0000:1b:00.0", ...shown },
    ]);
  });

  it("is recognized by the host's name if a side does not know its GPU", () => {
    const twin = { host: { hostname: "node-2" }, devices: [buildDevice({ uuid: null })] };
    expect(differencesOf({}, twin)).toEqual([{ ...hostName, ...otherMachine }]);
    expect(
      differencesOf({ backend: "emulated" }, { backend: "emulated", host: { hostname: "node-2" } }),
    ).toEqual([{ ...hostName, ...otherMachine }]);
  });

  it("is not one that the baseline has runs of", () => {
    const both = [...runsOf({}), ...runsOf({ devices: [buildDevice({ uuid: "GPU-2" })] })];
    expect(findDifferences(both, runsOf({}), strictly)).toEqual([
      { fact: "GPU UUID", baseline: `GPU-2 and ${uuid}`, candidate: uuid, ...shown },
    ]);
  });

  it("is none that has a further GPU", () => {
    const devices = [buildDevice(), buildDevice({ ordinal: 1, uuid: "GPU-2" })];
    expect(differencesOf({}, { devices })).toContainEqual({
      ...{ fact: "GPU UUID", baseline: uuid, candidate: `GPU-2 and ${uuid}`, ...shown },
    });
  });

  it("is not recognized by the name of a container, which is new each time", () => {
    const inContainer = (hostname: string) => ({ host: { hostname, container: "docker" } });
    expect(differencesOf(inContainer("3f2a"), inContainer("9b1c"))).toEqual([]);
  });

  it("has the name as it is, for the comparison's JSON", () => {
    const twin = { host: { hostname: "node\u001b[2J" } };
    expect(differencesOf({}, twin)[0]?.candidate).toBe("node\u001b[2J");
  });
});

describe("facts that are shown because they may explain a difference", () => {
  it.each([
    ["driver", { driverVersion: "580.1" }, "580.159.04", "580.1"],
    ["CUDA", { cudaVersion: "13.1" }, "13.0", "13.1"],
    ["kernel", { host: { kernel: "6.8.0" } }, "6.1.0-28-amd64", "6.8.0"],
    ["usable CPUs", { host: { cpuQuota: 2 } }, "16", "16, quota 2"],
    ["transparent huge pages", { host: { transparentHugePages: "always" } }, "madvise", "always"],
    ["number of GPUs", { devices: [buildDevice(), buildDevice({ ordinal: 1 })] }, "1", "2"],
    ["link under load", gen4x16!, "gen5 x16", "gen4 x16"],
    [
      "staging ring",
      { plan: { staging: { chunkBytes: MiB, slots: 4 } } },
      "3 slots of 2 MiB",
      "4 slots of 1 MiB",
    ],
    ["NUMA placement", { plan: { numa: 1 } }, "local", "1"],
    ["last-level cache", { host: { lastLevelCacheBytes: GiB } }, "105 MiB", "1 GiB"],
  ])("%s", (fact, part, baseline, candidate) => {
    expect(differencesOf({}, part)).toEqual([{ fact, baseline, candidate, ...shown }]);
    expect(differencesOf(part, part)).toEqual([]);
  });

  it("how long was measured", () => {
    const settings = {
      stagingSlots: 3,
      stagingChunkBytes: MiB,
      numa: "local",
      budgetNs: 8e9,
      precision: 0.01,
    };
    const measuredWith = (change: object) =>
      runsOf({}).map((run) => ({
        ...run,
        settings: { ...settings, samplesPerCell: null, verify: true, ...change } as never,
      }));
    const measuring = (before: object, after: object) =>
      findDifferences(measuredWith(before), measuredWith(after), strictly).filter(
        ({ fact }) => fact === "measuring",
      );
    const difference = { fact: "measuring", ...shown };
    expect(measuring({}, { samplesPerCell: 20 })).toEqual([
      { ...difference, baseline: "to ±1 % within 8 s", candidate: "20 samples a cell" },
    ]);
    expect(measuring({ samplesPerCell: 20 }, { samplesPerCell: 30, verify: false })).toEqual([
      { ...difference, baseline: "20 samples a cell", candidate: "30 samples a cell, not verified" },
    ]);
    expect(measuring({ precision: 0.025 }, { precision: 0.025 })).toEqual([]);
    const unknown = runsOf({}).map((run) => ({ ...run, settings: null }));
    expect(findDifferences(unknown, measuredWith({}), strictly)).toEqual([]);
  });

  it("also differences between the runs of one side", () => {
    const mixed = [...runsOf({}), ...runsOf({ driverVersion: "580.1" })];
    expect(findDifferences(runsOf({}), mixed, strictly)).toEqual([
      { fact: "driver", baseline: "580.159.04", candidate: "580.1 and 580.159.04", ...shown },
    ]);
    expect(findDifferences(mixed, mixed, strictly)).toEqual([]);
  });

  it("a slower generation of one GPU's link, for all have the same width", () => {
    const two = [gen5x16!, gen4x16!].map(({ devices }, ordinal) => ({ ...devices[0]!, ordinal }));
    const one = { devices: [two[0]!, { ...two[0]!, ordinal: 1 }] };
    expect(differencesOf({ devices: two }, one)).toEqual([
      { fact: "link under load", baseline: "gen5 x16, gen4 x16", candidate: "gen5 x16", ...shown },
    ]);
  });

  it("but not what one side does not know, as an imported result", () => {
    expect(differencesOf({ driverVersion: null }, {})).toEqual([]);
    const facts = differencesOf({}, { host: { governor: "performance" } });
    expect(facts).toEqual([]);
  });
});

describe("what makes two results not comparable", () => {
  it.each([
    ["GPU", {}, otherGpu, "NVIDIA H200", "NVIDIA L4"],
    ["copies compared", {}, { plan: { verify: "every" } }, "at most the last ones", "every one"],
  ] as const)("is another %s, unless that is allowed", (fact, before, after, baseline, candidate) => {
    const difference = { fact, baseline, candidate };
    expect(differencesOf(before, after)).toEqual([{ ...difference, ...blocking }]);
    expect(differencesOf(before, after, true)).toEqual([{ ...difference, blocks: false, isOverruled: true }]);
  });

  it.each([
    ["in another slot", "0000:1b:00.0"],
    ["in a slot that is not known", null],
  ])("is a narrower link %s, unless that is allowed", (_, pciBusId) => {
    const difference = { fact: "link under load", baseline: "gen5 x16", candidate: "gen5 x8" };
    const after = atX8InSlot(pciBusId);
    expect(differencesOf({}, after)).toContainEqual({ ...difference, ...blocking });
    expect(differencesOf({}, after, true)).toContainEqual({
      ...{ ...difference, blocks: false, isOverruled: true },
    });
    expect(findLinkLosses(runsOf({}), runsOf(after))).toEqual([]);
  });

  it("is one GPU's narrower link in another slot, though another GPU stayed where it was", () => {
    const second = buildDevice({ ordinal: 1, uuid: "GPU-2", pciBusId: "0000:1b:00.0" });
    const moved = { ...second, pciBusId: "0000:1c:00.0", link: link8 };
    expect(
      differencesOf({ devices: [buildDevice(), second] }, { devices: [buildDevice(), moved] }),
    ).toContainEqual({
      ...{ fact: "link under load", baseline: "gen5 x16", candidate: "gen5 x16, gen5 x8", ...blocking },
    });
  });

  it("is another backend, always", () => {
    const difference = { fact: "backend", baseline: "cuda", candidate: "emulated", ...blocking };
    expect(differencesOf({}, { backend: "emulated" })).toContainEqual(difference);
    expect(differencesOf({}, { backend: "emulated" }, true)).toContainEqual(difference);
  });

  it("is a side that mixes machines, even against itself", () => {
    const mixed = [...runsOf({}), ...runsOf(otherGpu)];
    const both = "NVIDIA H200 and NVIDIA L4";
    expect(findDifferences(mixed, mixed, strictly)).toEqual([
      { fact: "GPU", baseline: both, candidate: both, ...blocking },
    ]);
  });
});

describe("the link of the same GPU in the same slot", () => {
  /** Runs of which each has its link in all of its cells. */
  const runsAt = (...links: readonly (readonly [generation: number, width: number])[]) =>
    links.flatMap(([generation, width]) => {
      const link = { ...buildDevice().link!, generation, width };
      const [run] = buildRuns({ document: { devices: [buildDevice({ link })] }, count: 1 });
      return resultSet([{ ...run!, cells: [{ ...buildCell({ GBps: 50 }), link }] }]).runs;
    });
  const lost = (baseline: [number, number], candidate: [number, number], runs: number, of: number) => {
    const named = ([generation, width]: [number, number]) => ({ generation, width });
    return [{ device: 0, baseline: named(baseline), candidate: named(candidate), runs, of }];
  };
  const full = runsAt([5, 16], [5, 16], [5, 16]);

  it("is compared, and lost lanes or a generation are found, in a single run too", () => {
    expect(findDifferences(full, runsAt([5, 8]), strictly)).toEqual([
      { fact: "link under load", baseline: "gen5 x16", candidate: "gen5 x8", ...shown },
    ]);
    expect(findLinkLosses(full, runsAt([5, 8], [5, 8]))).toEqual(lost([5, 16], [5, 8], 2, 2));
    expect(findLinkLosses(full, runsAt([5, 16], [4, 16]))).toEqual(lost([5, 16], [4, 16], 1, 2));
    expect(findLinkLosses(full, runsAt([4, 16], [5, 8], [4, 8]))).toEqual(lost([5, 16], [4, 8], 3, 3));
  });

  it("has lost nothing if it is unchanged or faster", () => {
    expect(findLinkLosses(full, full)).toEqual([]);
    expect(findLinkLosses(runsAt([5, 8]), full)).toEqual([]);
    expect(findDifferences(runsAt([5, 8]), full, strictly)).toMatchObject([{ blocks: false }]);
  });

  it("is compared with most of the baseline's runs", () => {
    const mostlyFull = [...full, ...runsAt([5, 8])];
    expect(findLinkLosses(mostlyFull, runsAt([5, 8]))).toEqual(lost([5, 16], [5, 8], 1, 1));
    expect(findLinkLosses([...runsAt([5, 8], [5, 8]), ...runsAt([5, 16])], runsAt([5, 8]))).toEqual([]);
  });

  it("is the best of any cell of a run, because an idle GPU lowers it", () => {
    const [run] = buildRuns({ count: 1 });
    const idle = { ...buildDevice().link!, generation: 1 };
    const early = { ...run!, devices: [buildDevice({ link: idle })] };
    expect(findLinkLosses(full, resultSet([early]).runs)).toEqual([]);
  });

  it("says nothing if a side does not know it, or knows another GPU", () => {
    const unknown = resultSet([
      { ...buildRuns({ count: 1 })[0]!, devices: [buildDevice({ link: null })], cells: [] },
    ]).runs;
    expect(findLinkLosses(full, unknown)).toEqual([]);
    expect(findLinkLosses(unknown, runsAt([5, 8]))).toEqual([]);
    const twin = runsAt([5, 8]).map((run) => ({
      ...run,
      links: run.links.map((link) => ({ ...link, uuid: "GPU-2" })),
    }));
    expect(findLinkLosses(full, twin)).toEqual([]);
  });
});
