import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FleetDocument } from "../../src/fleet/fleet-document.js";
import { keyOf, type NodeFigures } from "../../src/fleet/node-figures.js";
import { fleetKind } from "../../src/fleet/report/fleet-report.js";
import { expectationOf } from "../../src/reference/expectation.js";
import { drawn } from "../helpers/drawn.js";
import { judged } from "../helpers/node-results.js";
import {
  facts,
  fleetNode,
  fleetNodes,
  type GpuFigures,
  hostOf,
  keys,
  nodesOf,
  wobble,
} from "../helpers/plain-nodes.js";
import { seeded } from "../helpers/seeded.js";

/** Which nodes, GPUs, parts and slots of a fleet are called slow. */

type Request = Parameters<typeof judged>[1];
type Gpus = readonly (readonly GpuFigures[])[];

interface Verdict {
  /** GPUs and nodes that are named. */
  slow: string[];
  /** Hosts of the slower of two parts. */
  part: string[];
  /** Slots with a note. */
  slots: number;
}

const named = ({ outliers }: Pick<FleetDocument, "outliers">) =>
  outliers.map(({ host, device }) => `${host} ${device ?? "all"}`).sort();
const verdictOf = (fleet: FleetDocument): Verdict => ({
  slow: named(fleet),
  part: fleet.groups.flatMap(({ slowPart }) => slowPart?.hosts ?? []),
  slots: fleet.groups.flatMap(({ notes }) => notes.filter((text) => text.includes("on nearly all"))).length,
});

/** A reference with this rate in both directions. */
const known = (rate: number, tolerance = 0.05, more: object = {}): Request => ({
  referenceOf: () => ({ h2d: rate, d2h: rate, together: null, tolerance, source: "recordings", ...more }),
});

/** This number of nodes, whose GPUs have 50 GB/s times a factor. */
const fleet = (nodes: number, gpus: number, timesOf: (node: number, gpu: number) => number = () => 1): Gpus =>
  Array.from({ length: nodes }, (_, node) =>
    Array.from({ length: gpus }, (_, gpu) => 50 * timesOf(node, gpu) * wobble(node)),
  );
/** Factors on the speed of some nodes ("7") and GPUs ("7 1"). */
const slowAt =
  (...places: [string, number][]) =>
  (node: number, gpu: number) =>
    new Map(places).get(`${node} ${gpu}`) ?? new Map(places).get(`${node}`) ?? 1;
const pageable = (gpus: Gpus): Gpus =>
  gpus.map((node) => node.map((rate) => ({ pageable: (rate as number) / 5 })));
const hosts = (...nodes: number[]) => nodes.map(hostOf);
const upTo = (count: number) => hosts(...Array.from({ length: count }, (_, node) => node));
const row = (what: string, gpus: Gpus, verdict: Partial<Verdict>, request: Request = {}) =>
  [what, { gpus, verdict, request }] as const;
const all = (times: number) => () => times;

it.each([
  row("none of twelve healthy nodes", fleet(12, 2), {}),
  row("a GPU that lost half", fleet(12, 2, slowAt(["7 1", 0.5])), { slow: ["n07 1"] }),
  row(
    "a GPU of several that lost 6.1 %, over 6 times the least noise",
    fleet(12, 2, slowAt(["2 0", 0.939])),
    {
      slow: ["n02 0"],
    },
  ),
  row(
    "no GPU of several that lost 5.5 %, less than 6 times the least noise",
    fleet(12, 2, slowAt(["2 0", 0.945])),
    {},
  ),
  row("a node that lost more than the threshold", fleet(12, 2, slowAt(["7", 0.957])), { slow: ["n07 all"] }),
  row("no node that lost less than the threshold", fleet(12, 2, slowAt(["7", 0.963])), {}),
  row(
    "a node that lost 4.3 %, over 4 times the least noise, with a threshold of 1 %",
    fleet(12, 2, slowAt(["7", 0.957])),
    { slow: ["n07 all"] },
    { rule: { threshold: 0.01 } },
  ),
  row(
    "no node that lost 25 % with a threshold of 30 %",
    fleet(12, 2, slowAt(["7", 0.75])),
    {},
    { rule: { threshold: 0.3 } },
  ),
  row("two GPUs of two nodes", fleet(12, 2, slowAt(["3 0", 0.8], ["9 1", 0.25])), {
    slow: ["n03 0", "n09 1"],
  }),
  row("the GPU of a node with only one GPU", fleet(12, 1, slowAt(["5", 0.8])), { slow: ["n05 0"] }),
  row(
    "a GPU with a long latency, and none with a short one",
    Array.from({ length: 12 }, (_, i) => [{ latency: i === 1 ? 0.8 : i === 2 ? 20 : 4 * wobble(i) }]),
    { slow: ["n02 0"] },
  ),
  row(
    "the whole node if most of its GPUs are slow",
    fleet(12, 4, slowAt(["5 0", 0.8], ["5 1", 0.8], ["5 2", 0.8])),
    { slow: ["n05 all"] },
  ),
  row("the single GPUs if half of a node's are slow", fleet(12, 4, slowAt(["5 0", 0.8], ["5 1", 0.8])), {
    slow: ["n05 0", "n05 1"],
  }),
  row("a slow node and one of its GPUs that is slower yet", fleet(12, 4, slowAt(["5", 0.8], ["5 2", 0.6])), {
    slow: ["n05 2", "n05 all"],
  }),
  row("a slow GPU among two nodes", fleet(2, 4, slowAt(["1 2", 0.9])), { slow: ["n01 2"] }),
  row("a slow GPU of a single node", fleet(1, 8, slowAt(["0 5", 0.5])), { slow: ["n00 5"] }),
  row("no GPU if there is only one", fleet(1, 1), {}),
  row(
    "none of two GPUs of one node, because nothing shows which is healthy",
    fleet(1, 2, slowAt(["0 1", 0.5])),
    {},
  ),

  row("the slower of two nodes as a slower part", fleet(2, 4, slowAt(["1", 0.8])), { part: hosts(1) }),
  row("no part of two nodes that differ by less than 4 %", fleet(2, 4, slowAt(["1", 0.965])), {}),
  row("the slower of three nodes as a slower part", fleet(3, 1, slowAt(["1", 0.8])), { part: hosts(1) }),
  row(
    "a quarter of the nodes as a slower part",
    fleet(24, 2, (node) => (node < 6 ? 0.8 : 1)),
    { part: upTo(6) },
  ),
  row(
    "the nodes if less than a quarter of them are slow",
    fleet(25, 1, (node) => (node < 6 ? 0.8 : 1)),
    { slow: upTo(6).map((host) => `${host} 0`) },
  ),
  row(
    "most nodes as the slower part",
    fleet(8, 2, (node) => (node < 6 ? 0.5 : 1)),
    { part: upTo(6) },
  ),
  row(
    "a slow node in the slower part and a slow GPU in the other part",
    fleet(12, 4, (node, gpu) => (node < 6 ? 0.8 : 1) * slowAt(["2", 0.5], ["9 1", 0.9])(node, gpu)),
    { part: upTo(6), slow: ["n02 all", "n09 1"] },
  ),
  row(
    "one very slow node, and no healthy node as part of a slower group",
    fleet(8, 2, (node) => (node === 3 ? 0.3 : 1 - node / 1000)),
    { slow: ["n03 all"] },
  ),

  row(
    "a slot that is slower in all nodes as a note",
    fleet(12, 8, (_, gpu) => (gpu === 5 ? 0.7 : 1)),
    { slots: 1 },
  ),
  row(
    "a slot that is slower in both of two nodes as a note",
    fleet(2, 4, (_, gpu) => (gpu === 1 ? 0.7 : 1)),
    { slots: 1 },
  ),
  row(
    "half of the slots as slower, and GPUs that are slow for their slot",
    fleet(12, 8, (node, gpu) => (gpu < 4 ? 1 : 0.7) * slowAt(["3 1", 0.9], ["4 6", 0.9])(node, gpu)),
    { slots: 4, slow: ["n03 1", "n04 6"] },
  ),
  row(
    "the GPUs of a slot that is slow in half of the nodes",
    fleet(12, 8, (node, gpu) => (gpu === 5 && node < 6 ? 0.7 : 1)),
    { slow: upTo(6).map((host) => `${host} 5`) },
  ),

  row("a node whose pageable copies lost 30 %", pageable(fleet(12, 8, slowAt(["7", 0.7]))), {
    slow: ["n07 all"],
  }),
  row("no node whose pageable copies lost 15 %", pageable(fleet(12, 8, slowAt(["7", 0.85]))), {}),

  row(
    "every GPU below the reference",
    fleet(3, 1, all(0.8)),
    { slow: ["n00 0", "n01 0", "n02 0"] },
    known(50),
  ),
  row(
    "a node below the reference, of two",
    fleet(2, 4, slowAt(["1", 0.8])),
    { slow: ["n01 all"] },
    known(50),
  ),
  row("a single GPU below the reference", fleet(1, 1, all(0.8)), { slow: ["n00 0"] }, known(50)),
  row("no GPU within the tolerance of the reference", fleet(3, 1, all(0.96)), {}, known(50)),
  row("a slow node below reference once", fleet(12, 4, slowAt(["5", 0.5])), { slow: ["n05 all"] }, known(50)),
  row(
    "the node if most of its GPUs are below the reference, and the GPUs if fewer are",
    fleet(12, 8, (node, gpu) => ((node === 5 && gpu > 2) || (node === 7 && gpu < 4) ? 0.9 : 0.96)),
    { slow: ["n05 all", "n07 0", "n07 1", "n07 2", "n07 3"] },
    known(50),
  ),
  row("no pageable copies, as references are for pinned ones", pageable(fleet(3, 1)), {}, known(50)),
])("the verdict on a fleet names %s", (_, { gpus, verdict, request }) => {
  const fleetOf = judged([], { nodes: fleetNodes(gpus), ...request });
  expect(verdictOf(fleetOf)).toEqual({ slow: [], part: [], slots: 0, ...verdict });
});

describe("faults that earlier rules missed", () => {
  const h200 = { referenceOf: expectationOf };
  const { normal } = seeded(53);
  /** Healthy GPUs of 55 GB/s whose nodes differ by half a per cent. */
  const ofHalfPercent = (count: number, ill: number) =>
    fleetNodes(
      Array.from({ length: count }, (_, node) => {
        const rate = node === ill ? 44 : 55 * Math.exp(0.005 * normal());
        return [{ pinned: rate, back: rate }];
      }),
    );

  it.each([2, 3, 4, 8, 12])("an H200 at 44 instead of 55 GB/s is named among %i nodes", (count) => {
    for (let run = 0; run < 30; ++run)
      expect(named(judged([], { nodes: ofHalfPercent(count, 1), ...h200 }))).toEqual(["n01 0"]);
  });

  it("a node whose GPUs all lost 30 % of pageable copies is named among 32 and 100 nodes", () => {
    for (const count of [32, 100]) {
      const nodes = nodesOf(count, (node) =>
        Array.from({ length: 8 }, () => ({ pageable: (node === 9 ? 7 : 10) * Math.exp(0.03 * normal()) })),
      );
      expect(named(judged([], { nodes }))).toEqual(["n09 all"]);
    }
  });

  it.each([
    [24, 7, 0.8],
    [24, 10, 0.8],
    [24, 8, 0.5],
    [8, 4, 0.5],
  ])(
    "among %i nodes, %i with a slower driver are reported as a part, with the driver's version",
    (count, ill, times) => {
      const nodes = nodesOf(
        count,
        (node) => {
          const speed = node < ill ? times : 1;
          return [0, 1].map(() => ({ pinned: 50 * speed, pageable: 10 * speed * Math.exp(0.04 * normal()) }));
        },
        (node) => ({ facts: { ...facts, gpuCount: "2", driver: node < ill ? "570" : "580" } }),
      );
      const { groups, outliers } = judged([], { nodes });
      const [group, ...others] = groups;
      expect([others, outliers]).toEqual([[], []]);
      expect(group!.slowPart!.hosts).toEqual(upTo(ill));
      expect(group!.slowPart!.reason).toMatch(
        new RegExp(`^The nodes differ by .* in pinned H2D: one part is slow, ${ill} nodes`),
      );
      expect(group!.slowPart!.reason).toMatch(/Only these have driver 570\.$/);
    },
  );

  it("a loss is never rounded into a smaller one, nor a figure into a better one", () => {
    const row = (times: number) => {
      const document = judged([], { nodes: fleetNodes(fleet(12, 1, slowAt(["5", times]))) });
      return drawn(fleetKind, document, "table")
        .split("\n")
        .find((line) => / n05 +0 /.test(line));
    };
    expect(row(0.80049)).toMatch(/ 20\.0 % .* 40\.0 of 50\.0 GB\/s/);
    expect(row(0.79951)).toMatch(/ 20\.1 % .* 39\.9 of 50\.0 GB\/s/);
  });
});

describe("nodes that are measured again", () => {
  const again = (host: string, gpus: readonly GpuFigures[], changes: Partial<NodeFigures> = {}) => {
    const node = Number(host.slice(1));
    return { ...nodesOf(node + 1, () => gpus)[node]!, ...changes };
  };
  const slowFleet = fleetNodes(fleet(12, 2, slowAt(["3", 0.5], ["7 1", 0.8])));
  const withFresh = (...fresh: NodeFigures[]) => judged([], { nodes: slowFleet, fresh });

  it("have a slow GPU, or are in the smaller part of the fleet or either of two equal parts", () => {
    expect(judged([], { nodes: slowFleet }).suspects).toEqual(hosts(3, 7));
    const parted = judged([], { nodes: fleetNodes(fleet(8, 2, (node) => (node < 3 ? 0.8 : 1))) });
    expect(parted.suspects).toEqual(upTo(3));
    const faster = judged([], { nodes: fleetNodes(fleet(8, 2, (node) => (node < 6 ? 0.8 : 1))) });
    expect(faster.suspects).toEqual(hosts(6, 7));
    expect(judged([], { nodes: fleetNodes(fleet(2, 2, slowAt(["1", 0.8]))) }).suspects).toEqual(hosts(1, 0));
  });

  it("are confirmed if they are slow again, and cleared if not", () => {
    const document = withFresh(again("n03", [25, 25]), again("n07", [50, 49]));
    expect(document.outliers.map(({ host, confirmed }) => [host, confirmed])).toEqual([["n03", true]]);
    expect(document.cleared.map(({ host, confirmed, action }) => [host, confirmed, action])).toEqual([
      ["n07", false, "none"],
    ]);
  });

  it("stay unconfirmed without the figures of the slow GPU", () => {
    const [first, second] = withFresh(again("n07", [50])).outliers;
    expect([first, second].map((one) => [one!.host, one!.confirmed])).toEqual([
      ["n03", null],
      ["n07", null],
    ]);
  });

  it("are matched by the UUIDs of their GPUs, whatever the GPUs' numbers are", () => {
    const fresh = again("n07", [50, 40]);
    const swapped = { ...fresh, devices: fresh.devices.map((gpu) => ({ ...gpu, ordinal: 1 - gpu.ordinal })) };
    expect(withFresh(swapped).outliers.find(({ host }) => host === "n07")!.confirmed).toBe(true);
  });

  it("clear a slower part if its gap has closed", () => {
    const nodes = fleetNodes(fleet(2, 2, slowAt(["1", 0.8])));
    const partWith = (rate: number) =>
      judged([], { nodes, fresh: [again("n01", [rate, rate])] }).groups[0]!.slowPart;
    expect(partWith(40)!.hosts).toEqual(["n01"]);
    expect(partWith(49.5)).toBeNull();
    const tooFast = judged([], { nodes, fresh: [again("n00", [40, 40])] });
    expect(tooFast.groups[0]!.slowPart).toBeNull();
  });

  it("get the state wrong data if the second measurement copies wrong data", () => {
    const wrong = { state: "wrong data" as const, reason: "copies of GPU 0 came back wrong" };
    expect(withFresh(again("n03", [25, 25], wrong)).nodes[3]).toMatchObject({
      state: "wrong data",
      action: "isolate",
      reason: "copies of GPU 0 came back wrong, when it was measured again",
    });
  });
});

describe("the time since when a GPU is slow", () => {
  const sinceWith = (...rates: number[]) => {
    const nodes = fleetNodes(fleet(12, 1, slowAt(["5", 0.8])));
    const earlier = rates.map((rate, days) => ({
      ...nodes[5]!,
      startedAt: `2026-11-${19 - days}T09:00:00.000Z`,
      devices: nodes[5]!.devices.map((gpu) => ({ ...gpu, figures: new Map([[keys.pinned, rate]]) })),
    }));
    return judged([], { nodes: nodes.with(5, { ...nodes[5]!, earlier }) }).outliers[0]!.since;
  };
  const day = (date: number) => `2026-11-${date}T09:00:00.000Z`;

  it.each<[string, number[], ReturnType<typeof sinceWith>]>([
    ["unknown with a single result", [], null],
    [
      "that of the first consecutive slow result, with the last healthy one before",
      [41, 40, 50, 40],
      { startedAt: day(18), lastHealthy: day(17) },
    ],
    [
      "that of the latest result if the result before was healthy",
      [50],
      { startedAt: day(20), lastHealthy: day(19) },
    ],
    [
      "that of the earliest result if all results are slow",
      [40, 40],
      { startedAt: day(18), lastHealthy: null },
    ],
  ])("is %s", (_, rates, since) => {
    expect(sinceWith(...rates)).toEqual(since);
  });
});

it.each([
  [[3, 7], "Only the 2 slow nodes have rack r7."],
  [[3], "Only the slow node has kernel 6.1 and rack r7."],
])("a report names facts that only the slow nodes %j have", (slow, shared) => {
  const nodes = nodesOf(
    12,
    (node) => fleet(12, 2, () => (slow.includes(node) ? 0.5 : 1))[node]!,
    (node) => ({
      labels: { rack: slow.includes(node) ? "r7" : "r1" },
      facts: { ...facts, gpuCount: "2", kernel: node === 3 ? "6.1" : "5.15" },
    }),
  );
  expect(judged([], { nodes }).notes).toEqual([shared]);
});

it("GPUs of one model and link are compared, whatever their nodes' drivers and CPUs are", () => {
  const link = { generation: 4, width: 16 };
  const l4 = (node: NodeFigures): NodeFigures => ({
    ...node,
    facts: { ...node.facts, gpu: "L4", linkCapability: "gen4 x16" },
    devices: node.devices.map((gpu) => ({ ...gpu, name: "L4", linkCapability: link })),
  });
  const nodes = nodesOf(
    10,
    (node) => fleet(10, 1, () => (node < 4 ? 0.5 : 1))[node]!,
    (node) => ({ facts: { ...facts, gpuCount: "1", driver: `58${node}`, cpu: `cpu ${node}` } }),
  ).map((node, index) => (index < 4 ? l4(node) : node));
  const { groups, outliers } = judged([], { nodes });
  expect(groups.map((group) => [group.facts.gpu, group.nodes])).toEqual([
    ["NVIDIA H200", 6],
    ["L4", 4],
  ]);
  expect(outliers).toEqual([]);
  // A node with a narrower slot is a group of its own with a note.
  const narrow = { ...nodes[9]!, facts: { ...nodes[9]!.facts, linkCapability: "gen5 x8" } };
  expect(judged([], { nodes: nodes.with(9, narrow) }).groups.at(-1)!.notes).toEqual([
    "Its link can do gen5 x8, and 5 nodes that are otherwise alike gen5 x16: look for another slot, riser or setting of the firmware.",
  ]);
});

it("copies in which the CPU takes part have a wider threshold in a fleet", () => {
  const cell = (rest: string, unit: "GB/s" | "us" = "GB/s") =>
    keyOf({ cell: `h2d/${rest}/cold`, moved: "h2d", unit });
  const boundOf = (key: string) => {
    const nodes = nodesOf(12, () => [{}]).map((node) => ({
      ...node,
      devices: node.devices.map((gpu) => ({ ...gpu, figures: new Map([[key, 10]]) })),
    }));
    return judged([], { nodes }).groups[0]!.bounds[0]!.node;
  };
  for (const memory of ["pinned", "registered", "write-combined", "mapped"])
    expect(boundOf(cell(`${memory}/67108864/w1/throughput`)), memory).toBeCloseTo(0.04, 6);
  for (const memory of ["pageable", "staged", "system"])
    expect(boundOf(cell(`${memory}/67108864/w1/throughput`)), memory).toBeCloseTo(-Math.expm1(-0.2), 6);
  expect(boundOf(cell("pinned/4096/w1/latency", "us"))).toBeCloseTo(-Math.expm1(-0.2), 6);
});

it("the verdict on a fleet does not depend on the order of nodes or the unit of rates", () => {
  const rate = fc.double({ min: 20, max: 60, noNaN: true });
  const gpus = fc.array(fc.array(rate, { minLength: 2, maxLength: 2 }), { minLength: 1, maxLength: 9 });
  fc.assert(
    fc.property(gpus, fc.double({ min: 0.1, max: 1, noNaN: true }), (drawn, times) => {
      // No two are equal: a tie would be decided by rounding.
      const rates = drawn.map((node, i) => node.map((one, j) => one * (1 + 1e-6 * (2 * i + j))));
      const nodes = fleetNodes(rates);
      const scaled = fleetNodes(rates.map((node) => node.map((one) => one * times)));
      const verdict = verdictOf(judged([], { nodes }));
      expect(verdictOf(judged([], { nodes: nodes.toReversed() }))).toEqual(verdict);
      expect(verdictOf(judged([], { nodes: scaled }))).toEqual(verdict);
    }),
    { numRuns: 100 },
  );
});

it("among machines that differ by 0.3 %, a node that lost 10 % is found, and no healthy one", () => {
  const { normal } = seeded(104);
  for (const count of [2, 3, 5, 12, 40]) {
    for (let run = 0; run < 20; ++run) {
      const times = (ill: boolean, machine: number) =>
        (ill ? 0.9 : 1) * Math.exp(0.003 * machine + 0.002 * normal());
      const nodes = (hasIll: boolean) =>
        nodesOf(count, (node) => {
          const machine = normal();
          return Array.from({ length: 4 }, () => {
            const speed = () => times(hasIll && node === 1, machine);
            return { pinned: 55 * speed(), back: 53 * speed(), pageable: 10 * Math.exp(0.03 * normal()) };
          });
        });
      expect(verdictOf(judged([], { nodes: nodes(false) }))).toEqual({ slow: [], part: [], slots: 0 });
      const { slow, part } = verdictOf(judged([], { nodes: nodes(true) }));
      expect([...part, ...slow]).toEqual([count < 5 ? "n01" : "n01 all"]);
    }
  }
});

describe("nodes are compared", () => {
  const compared = (nodes: readonly NodeFigures[], request: Request = {}) => {
    const document = judged([], { nodes, ...request });
    return document.nodes.filter((node) => node.compared).map(({ host }) => host);
  };
  const l4 = (host: string) =>
    fleetNode(host, [20], { facts: { ...facts, gpu: "L4" } }, () => ({ name: "L4" }));

  it("by the reference, by similar nodes, or by a GPU that is slower than its node's others", () => {
    expect(compared([fleetNode("n1", [50])])).toEqual([]);
    expect(compared([fleetNode("n1", [50])], known(50))).toEqual(["n1"]);
    expect(compared([fleetNode("n1", [50]), fleetNode("n2", [50]), l4("n3")])).toEqual(["n1", "n2"]);
    // Its GPUs are compared with one another: nothing shows whether all of them are slow.
    expect(compared([fleetNode("n1", [50, 50, 50, 50])])).toEqual([]);
    const slow = [fleetNode("n1", [50, 50, 50, 40])];
    expect(compared(slow)).toEqual(["n1"]);
    expect(compared(slow, { fresh: [fleetNode("n1", [50, 50, 50, 50])] })).toEqual([]);
  });

  const withOwn = (node: NodeFigures, ...figures: [string, number][]): NodeFigures => {
    const own = [1, 2, 4].map((MiB): [string, number] => [
      keyOf({ cell: `h2d/pinned/${MiB * 2 ** 20}/w1/throughput/cold`, moved: "h2d", unit: "GB/s" }),
      20,
    ]);
    return {
      ...node,
      devices: node.devices.map((gpu) => ({ ...gpu, figures: new Map([...figures, ...own]) })),
    };
  };

  it("only in cells that another GPU measured too", () => {
    const nodes = nodesOf(3, () => [50]);
    expect(compared(nodes)).toEqual(upTo(3));
    expect(compared(nodes.with(2, withOwn(nodes[2]!)))).toEqual(upTo(2));
  });

  it("without hiding a loss behind cells that no other GPU measured", () => {
    const nodes = nodesOf(12, () => [50]);
    expect(named(judged([], { nodes: nodes.with(5, withOwn(nodes[5]!, [keys.pinned, 40])) }))).toEqual([
      "n05 0",
    ]);
  });
});

it("a slower part's PCI slots are named if other nodes use different slots", () => {
  const nodes = nodesOf(8, (node) => [node < 4 ? 40 : 50]).map((node, index) => ({
    ...node,
    devices: node.devices.map((gpu) => ({ ...gpu, pciBusId: index < 4 ? "0000:81:00.0" : "0000:01:00.0" })),
  }));
  expect(judged([], { nodes }).groups[0]!.slowPart!.reason).toMatch(/Only these have slot 0000:81:00\.0\.$/);
});

it("a node whose GPUs are slow in different cells is named, with a cell", () => {
  const sizes = [1, 2, 4, 8, 16].map((size) =>
    keyOf({ cell: `h2d/pinned/${size * 2 ** 22}/w1/throughput/cold`, moved: "h2d", unit: "GB/s" }),
  );
  // Three of five GPUs lose 40 % in three cells each, and no cell is slow on three GPUs.
  const slowIn = [[0, 1, 2], [2, 3, 4], [0, 1, 3], [], []];
  const nodes = nodesOf(8, () => [1, 1, 1, 1, 1]).map((node, index) => ({
    ...node,
    devices: node.devices.map((device, gpu) => ({
      ...device,
      figures: new Map(sizes.map((key, i) => [key, index === 5 && slowIn[gpu]!.includes(i) ? 30 : 50])),
    })),
  }));
  const { outliers } = judged([], { nodes });
  expect(outliers.map(({ host, device, cells }) => [host, device, cells.length])).toContainEqual([
    "n05",
    null,
    1,
  ]);
});
