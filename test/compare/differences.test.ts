import { describe, expect, it } from "vitest";
import { findDifferences, findLinkLosses } from "../../src/compare/differences.js";
import type { DeviceLink, RunFigures } from "../../src/compare/result-set.js";
import { frozen } from "../helpers/frozen.js";
import { buildCell, buildDevice, type DocumentPart, GiB } from "../helpers/result-document.js";
import { buildRuns, resultSet } from "../helpers/runs.js";

const runsOf = (document: DocumentPart, count = 2) => resultSet(buildRuns({ document, count })).runs;
const strictly = { allowMismatch: false };
const differencesOf = (before: DocumentPart, after: DocumentPart, allowMismatch = false) =>
  findDifferences(runsOf(before), runsOf(after), { allowMismatch });
const shown = { blocks: false, isOverruled: false };
const blocking = { blocks: true, isOverruled: false };
const linkAt = (generation: number, width: number) => ({ ...buildDevice().link!, generation, width });
const withLink = (generation: number, width: number, part: object = {}) => ({
  devices: [buildDevice({ link: linkAt(generation, width), ...part })],
});
const { uuid, pciBusId } = buildDevice();
const otherGpu = { devices: [buildDevice({ name: "NVIDIA L4" })] };

describe("another machine of the same kind", () => {
  const otherMachine = { ...shown, isOtherMachine: true };
  const with1 = (part: object) => ({ devices: [buildDevice(part)] });
  const hostName = { fact: "host name", baseline: "node-1", candidate: "node-2" };
  const gpu = (candidate: string) => ({ fact: "GPU UUID", baseline: uuid, candidate });
  const slot = { fact: "PCI address", baseline: pciBusId, candidate: "0000:1b:00.0" };
  const host = { hostname: "node-2" };
  const inContainer = (hostname: string) => ({ host: { hostname, container: "docker" } });
  const emulated = { backend: "emulated" } as const;

  it.each<[string, DocumentPart, DocumentPart, object[]]>([
    ["is not reported for the same machine", {}, {}, []],
    [
      "is reported by another GPU UUID",
      {},
      { host, devices: [buildDevice({ uuid: "GPU-2", pciBusId: "0000:1b:00.0" })] },
      [
        { ...hostName, ...shown },
        { ...gpu("GPU-2"), ...otherMachine },
        { ...slot, ...shown },
      ],
    ],
    ["is not reported for another host name alone", {}, { host }, [{ ...hostName, ...shown }]],
    [
      "is not reported for another slot alone",
      {},
      with1({ pciBusId: "0000:1b:00.0" }),
      [{ ...slot, ...shown }],
    ],
    [
      "is reported by its host name if the GPU's UUID is unknown",
      {},
      { host, ...with1({ uuid: null }) },
      [{ ...hostName, ...otherMachine }],
    ],
    [
      "is reported by its host name if the device is emulated",
      emulated,
      { ...emulated, host },
      [{ ...hostName, ...otherMachine }],
    ],
    ["is not reported for the host name of a container", inContainer("3f2a"), inContainer("9b1c"), []],
    [
      "keeps its host name unescaped for the JSON",
      {},
      { host: { hostname: "node\u001b[2J" } },
      [{ ...hostName, candidate: "node\u001b[2J", ...shown }],
    ],
    [
      "is not reported for a further GPU",
      {},
      { devices: [buildDevice(), buildDevice({ ordinal: 1, uuid: "GPU-2" })] },
      [
        { fact: "number of GPUs", baseline: "1", candidate: "2", ...shown },
        { ...gpu(`GPU-2 and ${uuid}`), ...shown },
        { ...slot, candidate: "0000:00:06.0 and 0000:03:06.0", ...shown },
      ],
    ],
  ])("%s, and never blocks a comparison", (_, before, after, differences) => {
    expect(differencesOf(before, after)).toEqual(differences);
  });

  it("is not named if the baseline has runs of it", () => {
    const both = [...runsOf({}), ...runsOf({ devices: [buildDevice({ uuid: "GPU-2" })] })];
    expect(findDifferences(both, runsOf({}), strictly)).toEqual([
      { fact: "GPU UUID", baseline: `GPU-2 and ${uuid}`, candidate: uuid, ...shown },
    ]);
  });
});

const usualTime = "to ±1 % within 8 s";

describe("facts that a comparison shows because they may explain a difference", () => {
  it.each<[string, DocumentPart, string, string]>([
    ["driver", { driverVersion: "580.1" }, "580.159.04", "580.1"],
    ["CUDA", { cudaVersion: "13.1" }, "13.0", "13.1"],
    ["kernel", { host: { kernel: "6.8.0" } }, "6.1.0-28-amd64", "6.8.0"],
    ["usable CPUs", { host: { cpuQuota: 2 } }, "16", "16, quota 2"],
    ["transparent huge pages", { host: { transparentHugePages: "always" } }, "madvise", "always"],
    ["link under load", withLink(4, 16), "gen5 x16", "gen4 x16"],
    ["NUMA placement", { plan: { numa: 1 } }, "local", "1"],
    ["last-level cache", { host: { lastLevelCacheBytes: GiB } }, "105 MiB", "1 GiB"],
    ["measuring", { plan: { samplesPerCell: 20 } }, usualTime, "20 samples a cell"],
    ["measuring", { plan: { precision: 0.025 } }, usualTime, "to ±2.5 % within 8 s"],
  ])("include %s (case %#)", (fact, part, baseline, candidate) => {
    expect(differencesOf({}, part)).toEqual([{ fact, baseline, candidate, ...shown }]);
    expect(differencesOf(part, part)).toEqual([]);
  });

  it("include those that differ between the runs of one side", () => {
    const mixed = [...runsOf({}), ...runsOf({ driverVersion: "580.1" })];
    expect(findDifferences(runsOf({}), mixed, strictly)).toEqual([
      { fact: "driver", baseline: "580.159.04", candidate: "580.1 and 580.159.04", ...shown },
    ]);
    expect(findDifferences(mixed, mixed, strictly)).toEqual([]);
  });

  it("include a slower generation of one GPU's link, though all have the same width", () => {
    const two = [linkAt(5, 16), linkAt(4, 16)].map((link, ordinal) => buildDevice({ ordinal, link }));
    const one = { devices: [two[0]!, { ...two[1]!, link: two[0]!.link }] };
    expect(differencesOf({ devices: two }, one)).toEqual([
      { fact: "link under load", baseline: "gen5 x16, gen4 x16", candidate: "gen5 x16", ...shown },
    ]);
  });

  it("leave out facts that one side does not record, such as an imported result", () => {
    expect(differencesOf({ driverVersion: null }, {})).toEqual([]);
    expect(differencesOf({}, { host: { governor: "performance" } })).toEqual([]);
    const imported = resultSet(buildRuns({ count: 2 }).map((one) => ({ ...one, plan: null }))).runs;
    expect(findDifferences(imported, runsOf({}), strictly)).toEqual([]);
  });
});

describe("what makes two results not comparable", () => {
  const moved = withLink(5, 8, { pciBusId: "0000:1b:00.0" });
  const second = buildDevice({ ordinal: 1, uuid: "GPU-2", pciBusId: "0000:1b:00.0" });
  const nowhere = withLink(5, 8, { pciBusId: null });
  const secondMoved = { ...second, pciBusId: "0000:1c:00.0", link: linkAt(5, 8) };

  it.each<[string, string, DocumentPart, DocumentPart, string, string]>([
    ["another GPU", "GPU", {}, otherGpu, "NVIDIA H200", "NVIDIA L4"],
    ["--verify every", "copies compared", {}, { plan: { verify: "every" } }, "the last ones", "every one"],
    ["a narrower link in another slot", "link under load", {}, moved, "gen5 x16", "gen5 x8"],
    ["a narrower link in an unknown slot", "link under load", {}, nowhere, "gen5 x16", "gen5 x8"],
    [
      "one GPU's narrower link in another slot, though another GPU stayed",
      "link under load",
      { devices: [buildDevice(), second] },
      { devices: [buildDevice(), secondMoved] },
      "gen5 x16",
      "gen5 x16, gen5 x8",
    ],
  ])("is %s, unless that is allowed", (_, fact, before, after, baseline, candidate) => {
    const difference = { fact, baseline, candidate };
    expect(differencesOf(before, after)).toContainEqual({ ...difference, ...blocking });
    expect(differencesOf(before, after).filter(({ blocks }) => blocks)).toHaveLength(1);
    expect(differencesOf(before, after, true)).toContainEqual({
      ...{ ...difference, blocks: false, isOverruled: true },
    });
    expect(findLinkLosses(runsOf(before), runsOf(after))).toEqual([]);
  });

  it("is another backend, always", () => {
    const difference = { fact: "backend", baseline: "cuda", candidate: "emulated", ...blocking };
    for (const allowMismatch of [false, true])
      expect(differencesOf({}, { backend: "emulated" }, allowMismatch)).toContainEqual(difference);
  });

  it("is a side that mixes machines, even against itself", () => {
    const mixed = [...runsOf({}), ...runsOf(otherGpu)];
    const both = "NVIDIA H200 and NVIDIA L4";
    expect(findDifferences(mixed, mixed, strictly)).toEqual([
      { fact: "GPU", baseline: both, candidate: both, ...blocking },
    ]);
  });

  it("is never the link of the same GPU in the same slot: its best reading counts, as idle GPUs lower it", () => {
    expect(differencesOf({}, withLink(5, 8))).toEqual([
      { fact: "link under load", baseline: "gen5 x16", candidate: "gen5 x8", ...shown },
    ]);
    const [run] = buildRuns({ count: 1, document: withLink(1, 16) });
    const loaded = { ...run!, cells: [{ ...buildCell({ GBps: 50 }), link: linkAt(5, 16) }] };
    expect(findLinkLosses(runsOf({}), resultSet([loaded]).runs)).toEqual([]);
  });
});

const gpu = (device: number, link: Partial<DeviceLink> = {}): DeviceLink => ({
  ...{
    device,
    name: "NVIDIA H200",
    uuid: `GPU-${device}`,
    pciBusId: `0000:0${device}:00.0`,
    generation: 5,
    width: 16,
  },
  ...link,
});
const runs = (...links: DeviceLink[][]) => frozen(links.map((ofRun) => ({ links: ofRun }) as RunFigures));
/** Runs of one device with these links, one for each run. */
const at = (...links: (readonly [generation: number, width: number])[]) =>
  runs(...links.map(([generation, width]) => [gpu(0, { generation, width })]));

describe("a narrower or slower link of the same GPU in the same slot", () => {
  it("is reported for its device, with the number of runs and the worst link", () => {
    const whole = runs([gpu(0), gpu(1)], [gpu(0), gpu(1)], [gpu(0), gpu(1)]);
    const candidate = runs(
      [gpu(0), gpu(1, { width: 8 })],
      [gpu(0), gpu(1, { generation: 3 })],
      [gpu(0), gpu(1)],
      // A run without the width does not count.
      [gpu(0), gpu(1, { width: null })],
    );
    expect(findLinkLosses(whole, candidate)).toEqual([
      {
        ...{ device: 1, runs: 2, of: 3 },
        baseline: { generation: 5, width: 16 },
        // Two generations less are a quarter of the rate.
        candidate: { generation: 3, width: 16 },
      },
    ]);
    expect(findLinkLosses(whole, whole)).toEqual([]);
  });

  const [full, narrow] = [[5, 16] as const, [5, 8] as const];

  it.each([
    [[full, full, narrow], [narrow], 1],
    [[full, narrow, narrow], [narrow], 0],
    [[full, narrow], [narrow], 1],
    [[narrow], [full], 0],
    // Half the lanes, each twice as fast, are narrower all the same.
    [[[4, 16] as const], [narrow], 1],
  ])("is a loss if most runs before, or half, were better: %j, then %j: %d", (before, after, losses) => {
    expect(findLinkLosses(at(...before), at(...after))).toHaveLength(losses);
  });

  it.each(["generation", "width"])("is not reported if its %s is unknown", (unknown) => {
    const [lost, none] = [{ width: 4, generation: 1 }, { [unknown]: null }];
    expect(findLinkLosses(runs([gpu(0)]), runs([gpu(0, { ...lost, ...none })]))).toEqual([]);
    expect(findLinkLosses(runs([gpu(0, none)]), runs([gpu(0, lost)]))).toEqual([]);
  });

  it.each<[string, Partial<DeviceLink>, number]>([
    ["is another GPU", { uuid: "GPU-9" }, 1],
    ["is in another slot", { pciBusId: "0000:09:00.0" }, 1],
    ["has no known UUID", { uuid: null }, 0],
    ["has no known slot", { pciBusId: null }, 0],
  ])("is no loss of a device that %s", (_, other, ofItself) => {
    const narrower = runs([gpu(0, { width: 8, ...other })]);
    expect(findLinkLosses(runs([gpu(0)]), narrower)).toEqual([]);
    expect(findLinkLosses(runs([gpu(0, other)]), narrower)).toHaveLength(ofItself);
  });
});
