import { describe, expect, it } from "vitest";
import { fileScreen } from "../../../src/draw/screen.js";
import type { FleetDocument, FleetGroup, FleetOutlier } from "../../../src/fleet/fleet-document.js";
import type { NodeFigures } from "../../../src/fleet/node-figures.js";
import { fleetKind } from "../../../src/fleet/report/fleet-report.js";
import { groupFacts } from "../../../src/fleet/report/fleet-text.js";
import { blocksOf, drawn, reportOf } from "../../helpers/drawn.js";
import {
  buildFleet,
  buildLacking,
  buildMixedFleet,
  buildNode,
  buildOutlier,
  pinnedTo,
  smallCopy,
} from "../../helpers/fleet.js";
import { judged } from "../../helpers/node-results.js";
import { facts, fleetNode, type GpuFigures, nodesOf, wobble } from "../../helpers/plain-nodes.js";

const wide = fileScreen({ columns: 1000 });
const textOf = (fleet: FleetDocument) => drawn(fleetKind, fleet, "table", wide);
type Part = NonNullable<Parameters<typeof buildFleet>[0]>;
const table = (part: Part = {}) => textOf(buildFleet(part));
/** The sentences of the answer, each joined to one line. */
const answerOf = (text: string) =>
  (text.replaceAll(/\n {3}(?=\S)/g, " ").match(/^=> .*/gm) ?? []).map((line) => line.slice(3));

const missing = (...hosts: string[]) => hosts.map((host) => buildLacking(host, "missing", "Nothing came."));
const wrongData = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    buildLacking(`w${i}`, "wrong data", `copies of GPU ${i} came back wrong`),
  );
const inPart = (...hosts: string[]) => hosts.map((host) => buildLacking(host, "incomplete", "it has 1 GPU"));
const slow = (change: number, part: Partial<FleetOutlier>) =>
  buildOutlier("n02", { cells: [{ ...pinnedTo, figure: 50 * (1 + change), expected: 50, change }], ...part });
const since = { startedAt: "2026-11-21T09:00:00.000Z", lastHealthy: "2026-11-20T09:00:00.000Z" };
const uncompared = (host: string) => buildNode(host, { compared: false });
const slowPart = {
  hosts: ["n01", "n02"],
  change: -0.2,
  reason: "The nodes differ by 20.0 %: one part is slow.",
  action: "monitor" as const,
};
const any = expect.any(String);

it.each<[string, Part | "mixed", (string | RegExp)[]]>([
  [
    "wrong data first, then the slowest nodes, then those without a complete result",
    "mixed",
    [
      "1 node copied wrong data: n100: isolate",
      "2 of 96 nodes are slow: GPU 1 of n007 (50.0 % slower) and all GPUs of n042 (11.1 % slower), confirmed",
      "3 of 100 nodes have no complete result: 1 late (n097) and 2 missing (n[098-099])",
    ],
  ],
  [
    "several slow GPUs of a node as one node",
    { outliers: [slow(-0.5, { since }), slow(-0.06, { device: 0, action: "monitor" })] },
    ["1 of 4 nodes is slow: GPU 1 and 1 more GPU of n02 (50.0 % slower), not confirmed: measure again"],
  ],
  [
    "a slow node once, although one of its GPUs is even slower",
    { outliers: [slow(-0.5, { device: 2 }), slow(-0.2, { device: null })] },
    [/: all GPUs of n02 \(50\.0 % slower\)/],
  ],
  [
    "three nodes, and the number of the others",
    {
      nodes: ["n1", "n2", "n3", "n4", "n5"],
      outliers: ["n1", "n2", "n3", "n4", "n5"].map((host) => buildOutlier(host)),
    },
    [
      /^5 of 5 nodes are slow: GPU 1 of n1 \(50\.0 % slower\), .* GPU 1 of n3 \(50\.0 % slower\) and 2 more, not confirmed: measure again$/,
    ],
  ],
  ["the number of nodes if none is slow", {}, ["none is slow: 4 nodes compared"]],
  [
    "nodes that cannot be compared with others",
    { nodes: [uncompared("n1")] },
    ["undecided: no similar node and no reference to compare 1 of 1 node with: n1"],
  ],
  [
    "the number of nodes that were compared, and the others",
    { nodes: ["n01", "n02", uncompared("n5"), uncompared("n6")] },
    [
      "none is slow: 2 nodes compared",
      "no similar node and no reference to compare 2 of 4 nodes with: n[5-6]",
    ],
  ],
  [
    "the number of slow nodes among compared nodes only",
    { nodes: ["n01", "n02", uncompared("n5")], outliers: [slow(-0.2, {})] },
    [
      /^1 of 2 compared nodes is slow: /,
      /^no similar node and no reference to compare 1 of 3 nodes with: n5$/,
    ],
  ],
  [
    "a slower part, and do not call the others healthy",
    { group: { slowPart } },
    ["The nodes differ by 20.0 %: one part is slow"],
  ],
  [
    "missing figures if no node can be compared",
    { nodes: missing("n1") },
    ["no node has figures to judge", "1 of 1 node has no complete result: 1 missing (n1)"],
  ],
  [
    "results that cannot be read",
    { nodes: ["n1", "n2", ...missing("n3"), buildLacking("./x.json", "unreadable", "x.json is not JSON.")] },
    [any, "2 of 4 nodes have no complete result: 1 missing (n3) and 1 unreadable (./x.json)"],
  ],
  [
    "nodes without a result, even if most are",
    { nodes: ["n1", ...missing("n3", "n4")] },
    [any, "2 of 3 nodes have no complete result: 2 missing (n[3-4])"],
  ],
  [
    "no more than the three most important facts",
    { nodes: ["n01", ...wrongData(4), ...missing("n3")], outliers: [slow(-0.2, {})], group: { slowPart } },
    ["4 nodes copied wrong data: w[0-3]: isolate", /is slow: GPU 1/, /one part is slow$/],
  ],
])("the first lines of a fleet report name %s", (_, part, sentences) => {
  const text = part === "mixed" ? textOf(buildMixedFleet()) : table(part);
  expect(answerOf(text)).toEqual(
    sentences.map((one) => (one instanceof RegExp ? expect.stringMatching(one) : one)),
  );
  if (part !== "mixed" && part.nodes?.length === 6)
    expect(text).toMatch(/^ *1 of 6 nodes has no complete result/m);
});

it.each<[string, Part | "mixed", (string | RegExp)[]]>([
  [
    "slow nodes, then cleared ones, each with its second measurement",
    "mixed",
    [
      /n007 .* isolate .* slow +2026-11-20\n.*n042 .* slow +by 2026-11-22\n.*n063 .* not slow .*\n/,
      "evidence: its link ran at gen5 x8, and those of its group at gen5 x16 (n007)\n",
      / Nodes +100: 96 measured, 1 late, 2 missing and 1 wrong data\n/,
      / Measured +2026-11-22 09:00 UTC\n/,
      / H2D pinned 64 MiB .* 99\.4 %\n/,
    ],
  ],
  [
    "notes and evidence with the name of each node once",
    {
      nodes: ["n01", buildNode("n 2", { notes: ["an older result does not count"] })],
      outliers: ["n 2", "n01", "n 2"].map((host, device) =>
        buildOutlier(host, { device, evidence: ["its link is narrow"] }),
      ),
    },
    [" evidence: its link is narrow (n 2, n01)\n", " note: an older result does not count (n 2)\n"],
  ],
  [
    "nodes without a valid result by reason, their names compressed",
    { nodes: ["n1", ...missing("n2", "n3", "n5")] },
    [/missing +3 +n\[2-3,5\] +monitor +Nothing came\./],
  ],
  [
    "only the first names of very many nodes",
    { nodes: ["n1", ...missing(...Array.from({ length: 40 }, (_, i) => `n${3 * i + 10}`))] },
    [/missing +40 +n10, n13, n16 and 37 more +monitor +Nothing/],
  ],
  [
    "invalid names as they are",
    { nodes: ["n1", ...missing("n 2", "n3")] },
    [/missing +2 +n 2, n3 +monitor +Nothing/],
  ],
  [
    "three names, however long they are",
    { nodes: ["n1", ...missing(...["a", "b", "c"].map((rack) => `gpu-h200-${rack}-of-the-left`))] },
    [
      /missing +3 +gpu-h200-a-of-the-left, gpu-h200-b-of-the-left and gpu-h200-c-of-the-left +monitor +Nothing/,
    ],
  ],
  [
    "what to do with each node",
    {
      nodes: [
        "n1",
        { ...buildLacking("n3", "incomplete", "it is too fast"), action: "monitor" },
        ...inPart("n2"),
      ],
    },
    [/ 1 +n3 +monitor +it is too fast\n.* 1 +n2 +reset +it has 1 GPU\n/],
  ],
  [
    "which losses would be found, for each kind of copies",
    {},
    [
      / Finds losses of +pinned 4\.1 % of a node, 5\.8 % of a GPU, 5\.0 % below the reference; other copies 18\.1 % of a node, 25\.9 % of a GPU\n/,
    ],
  ],
  [
    "latencies in microseconds, with their loss",
    {
      outliers: [
        buildOutlier("n01", {
          cells: [{ ...smallCopy, figure: 14.4, expected: 7.2, change: -0.5 }],
        }),
      ],
    },
    [/n01 +1 +50\.0 % +isolate +H2D pinned 4 KiB latency +14\.4 of 7\.20 µs/],
  ],
])("the tables of a fleet show %s", (_, part, texts) => {
  const text = part === "mixed" ? textOf(buildMixedFleet()) : table(part);
  for (const one of texts) {
    if (one instanceof RegExp) expect(text).toMatch(one);
    else expect(text.split(one)).toHaveLength(2);
  }
});

it("a fleet's table mutes cleared nodes, and has a second figure only if one was measured", () => {
  const [rows] = blocksOf(reportOf(fleetKind, buildMixedFleet()), "table");
  expect(rows!.grid.rows.map((row) => row[2]!.tone)).toEqual(["failure", "failure", "muted"]);
  expect(table({ outliers: [buildOutlier("n01")] })).not.toMatch(/figure +again/);
});

it("a fleet's table names the slow direction of a cell that copies both ways", () => {
  const cell = "bidir/pinned/67108864/w1/throughput/cold";
  const cells = [{ ...pinnedTo, cell, figure: 20, expected: 40, change: -0.5 }];
  const fleet = buildFleet({ outliers: [buildOutlier("n01", { cells })] });
  fleet.groups[0]!.cells[0]!.cell = cell;
  expect(textOf(fleet)).toContain("H2D+D2H pinned 64 MiB (H2D)");
});

it("a fleet as JSON is the document itself", () => {
  const fleet = buildMixedFleet();
  expect(JSON.parse(drawn(fleetKind, fleet, "json", wide))).toEqual(fleet);
});

describe("a fleet of two groups", () => {
  const link = { generation: 4, width: 8 };
  const l4 = (node: number, figures: GpuFigures, changes: Partial<NodeFigures> = {}) =>
    fleetNode(`a${node}`, [figures], { facts: { ...facts, gpu: "L4", gpuCount: "1" }, ...changes }, () => ({
      ...{ name: "L4", link, linkCapability: link },
    }));
  const late = { startedAt: "2026-11-20T10:30:00.000Z" };
  const nodes = [
    ...[0, 1, 2, 3, 4].map((node) =>
      l4(node, { pageable: node === 3 ? 2 : 12.5 * wobble(node), latency: 4 }, node === 1 ? late : {}),
    ),
    ...nodesOf(6, (node) => [{ pinned: 50 * wobble(node), back: 48 * wobble(node), pageable: 10 }]),
  ];
  const fleet = () => judged([], { nodes });

  it("has the facts and the tables of each, and the slow GPU among its group's cells", () => {
    const text = textOf(fleet());
    for (const line of [
      / Nodes +11: 11 measured\n/,
      / GPUs +11 in 2 groups of similar nodes\n/,
      / Measured +2026-11-20 09:00 UTC to 2026-11-20 10:30 UTC\n/,
      / Finds in group 1 +pinned .*\n +Finds in group 2 +other copies 18\.2 % of a node\n/,
      /Group 1: 6 nodes, 6 GPUs, NVIDIA H200/,
      /Group 2: 5 nodes, 5 GPUs, L4/,
      / a3 +0 +84\.0 % +isolate +H2D pageable 64 MiB +2\.00 of 12\.5 GB\/s\n/,
      / H2D pageable 64 MiB +5 +GB\/s +12\.5 +2\.00 +12\.5\n/,
    ])
      expect(text).toMatch(line);
  });

  it("names the group in each sentence about one", () => {
    const document = fleet();
    Object.assign(document.groups[1]!, { notes: ["They differ."], slowPart });
    const text = textOf(document);
    expect(text).toMatch(/^=> group 2: The nodes differ by 20\.0 %: one part is slow$/m);
    expect(text).toMatch(/^ *group 2: They differ$/m);
  });

  it("calls a group by its GPU, link and driver, as far as these are known", () => {
    const nameOf = (known: Record<string, string>) => groupFacts({ facts: known } as unknown as FleetGroup);
    expect(nameOf({ numaNodes: "2" })).toBe("GPU not known");
    expect(nameOf({ gpu: "L4", linkCapability: "gen4 x8", driver: "580" })).toBe("L4, gen4 x8, driver 580");
  });
});

it("at 100 columns the table of slow nodes shows since when they are slow", () => {
  const lines = drawn(fleetKind, buildMixedFleet(), "table", fileScreen({ columns: 100 })).split("\n");
  const head = lines.find((line) => line.includes("slower by"))!;
  expect(head).toMatch(/figure +again +slow since$/);
});
