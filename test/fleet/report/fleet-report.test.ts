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
/** The sentences that stand first, each on one line: running text is never wider than can be read. */
const answerOf = (text: string) =>
  (text.replaceAll(/\n {3}(?=\S)/g, " ").match(/^=> .*/gm) ?? []).map((line) => line.slice(3));

const missing = (...hosts: string[]) => hosts.map((host) => buildLacking(host, "missing", "Nothing came."));
const wrongData = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    buildLacking(`w${i}`, "wrong data", `copies of GPU ${i} came back wrong`),
  );
const inPart = (...hosts: string[]) => hosts.map((host) => buildLacking(host, "incomplete", "it has 1 GPU"));
const slow = (change: number, part: Partial<FleetOutlier>) =>
  buildOutlier("n02", {
    cells: [{ ...pinnedTo, figure: 50 * (1 + change), centre: 50, change, adjustedPValue: 0 }],
    ...part,
  });
const since = { startedAt: "2026-11-21T09:00:00.000Z", lastHealthy: "2026-11-20T09:00:00.000Z" };
const found = { memory: "pinned", cells: 2, inOneCell: 0.1, inAllCells: null, belowReference: 0.05 };
const findsLess = [{ ...found, belowReference: null }];
const findsNothing = [{ ...found, inOneCell: null, belowReference: null }];
const tooFew = "They are few.";
const slot = (place: number) => ({
  ...{ place: `${place}`, nodes: 4, of: 4, change: -0.5, reason: `Slot ${place} is slow.` },
  action: "monitor" as const,
});
const slowPart = {
  hosts: ["n01", "n02"],
  reason: "The nodes fall into two parts.",
  action: "monitor" as const,
};
const slowAsAWhole = "All are slow.";
const doubts = ["A clock is wrong.", "A result is old."];
const of4 = ["n1", "n2", "n4"];
const lacking = (["wrong data", "missing", "unreadable", "incomplete"] as const).map((state, i) =>
  buildLacking(`x${i}`, state, "It is so."),
);
const ofDoubts = (count: number): Part => ({
  nodes: [...of4, ...lacking.slice(0, count)],
  group: { slowAsAWhole },
  doubts,
});
const similar = "none of 4 nodes (8 GPUs) is slower than similar ones";
const any = expect.any(String);

it.each<[string, Part | "mixed", (string | RegExp)[]]>([
  [
    "the slowest nodes, with the part that is slow and by how much, and those without a valid result",
    "mixed",
    [
      "2 of 96 measured nodes are slow: GPU 1 of n007 (50.0 % slower in H2D pinned 64 MiB x1, since 2026-11-20 09:00 UTC; isolate) and all GPUs of n042 (11.1 % slower in D2H pinned 64 MiB x1, since 2026-11-22 09:00 UTC or before; isolate)",
      "1 node copied wrong data: n100 (copies of GPU 0 came back wrong at 2026-11-22 09:00 UTC): isolate",
      "3 of 100 nodes have no valid result: 1 late (n097) and 2 missing (n[098-099]): reset, then measure again",
    ],
  ],
  [
    "several slow GPUs of a node as one node",
    { outliers: [slow(-0.06, { device: 0, action: "monitor" }), slow(-0.5, { since })] },
    [
      "1 of 4 nodes is slow: GPU 1 and 1 more GPU of n02 (50.0 % slower in H2D pinned 64 MiB x1, since 2026-11-21 09:00 UTC; isolate)",
    ],
  ],
  [
    "a GPU that is slower than its slow node",
    { outliers: [slow(-0.5, { device: 2 }), slow(-0.2, { device: null })] },
    [/: all GPUs, GPU 2 most, of n02 \(50\.0 % slower/],
  ],
  [
    "three nodes, and the number of the others",
    {
      nodes: ["n1", "n2", "n3", "n4", "n5"],
      outliers: ["n1", "n2", "n3", "n4", "n5"].map((host) => buildOutlier(host)),
    },
    [/^5 of 5 nodes are slow: GPU 1 of n1 .* GPU 1 of n3 \(.*; isolate\) and 2 more$/],
  ],
  [
    "a loss over all cells of a kind beside that of the slowest cell",
    { outliers: [slow(-0.5, { together: { memory: "pinned", cells: 30, change: -0.06 } })] },
    [/\(50\.0 % slower in H2D pinned 64 MiB x1, 6\.0 % over all 30 pinned cells; isolate\)/],
  ],
  ["that none is slow", {}, ["none of 4 nodes (8 GPUs) is slow"]],
  ["that none is slower than others, of an unknown kind", { group: { found: findsLess } }, [similar]],
  ["that none is slower than others, of few", { group: { tooFew, found: findsLess } }, [similar]],
  ["no health of a group that is slow as a whole", { group: { slowAsAWhole } }, [similar, "All are slow"]],
  ["no health of a slow slot", { group: { slowPlaces: [slot(1)] } }, [similar, "Slot 1 is slow"]],
  [
    "that two cannot tell",
    { nodes: ["n1", "n2"], group: { tooFew, found: findsNothing } },
    ["no node is called slow: 2 are too few to judge"],
  ],
  [
    "that a single node is not slow",
    { nodes: ["n1"], group: { tooFew, found: [found] } },
    ["the only node (2 GPUs) is not slow"],
  ],
  [
    "that none of a node's GPUs is slower than the others",
    { nodes: ["n1"], group: { tooFew, found: findsLess } },
    ["the only node (2 GPUs) has no GPU slower than the others"],
  ],
  [
    "that a single node cannot tell",
    { nodes: ["n1"], group: { tooFew, found: findsNothing } },
    ["no node is called slow: one is too few to judge"],
  ],
  [
    "that nothing could be judged",
    { nodes: missing("n1") },
    [
      "no node has figures to judge",
      "1 of 1 node has no valid result: 1 missing (n1): look at the run first",
    ],
  ],
  [
    "what cannot be read",
    { nodes: ["n1", "n2", ...missing("n3"), buildLacking("x", "unreadable", "x.json is not JSON.")] },
    [
      any,
      "1 of 4 nodes has no valid result: 1 missing (n3): reset, then measure again",
      "1 result cannot be read: x: measure again",
    ],
  ],
  [
    "a look at the run if most nodes left no result",
    { nodes: ["n1", ...missing("n3", "n4")] },
    [any, "2 of 3 nodes have no valid result: 2 missing (n[3-4]): look at the run first"],
  ],
  [
    "no look at a run that measured all but a GPU of each",
    { nodes: ["n0", ...inPart("n1", "n2"), ...missing("n3")] },
    [any, any, /^1 of 4 nodes has no valid result: .*: reset, then measure again$/],
  ],
  [
    "what two nodes copied wrong",
    { nodes: ["n1", ...wrongData(2)] },
    [
      any,
      "2 nodes copied wrong data: w0 (copies of GPU 0 came back wrong) and w1 (copies of GPU 1 came back wrong): isolate",
    ],
  ],
  [
    "the names alone of more",
    { nodes: ["n1", ...wrongData(4)] },
    [any, "4 nodes copied wrong data: w[0-3]: isolate"],
  ],
  [
    "to reset nodes that lack a GPU, and only to measure again those with impossible figures",
    {
      nodes: [
        "n1",
        { ...buildLacking("n3", "incomplete", "it is too fast"), action: "monitor" },
        ...inPart("n2"),
      ],
    },
    [
      any,
      "1 node measured in part: n3 (it is too fast): measure again",
      "1 node measured in part: n2 (it has 1 GPU): reset, then measure again",
    ],
  ],
  [
    "two of several things that many have in common",
    { group: { slowPlaces: [0, 1, 2, 3].map(slot), slowAsAWhole } },
    [any, "Slot 0 is slow", "Slot 1 is slow"],
  ],
  [
    "parts before the whole",
    { group: { slowPart, slowAsAWhole } },
    [any, "The nodes fall into two parts", "All are slow"],
  ],
  [
    "doubts and what many have in common",
    ofDoubts(1),
    [any, any, "A clock is wrong", "A result is old", "All are slow"],
  ],
  ["five sentences", ofDoubts(2), [any, any, any, "A clock is wrong", "A result is old"]],
  ["one on doubts beside three on nodes", ofDoubts(3), [any, any, any, any, "A clock is wrong"]],
  ["one on doubts beside four on nodes", ofDoubts(4), [any, any, any, any, any, "A clock is wrong"]],
  [
    "one on doubts beside slow nodes",
    { ...ofDoubts(4), outliers: [slow(-0.2, {})] },
    [any, any, any, any, any, "A clock is wrong"],
  ],
])("the answer of a fleet has %s", (_, part, sentences) => {
  const text = part === "mixed" ? textOf(buildMixedFleet()) : table(part);
  expect(answerOf(text)).toEqual(
    sentences.map((one) => (one instanceof RegExp ? expect.stringMatching(one) : one)),
  );
  // What is no part of the answer is a note.
  const { slowAsAWhole: whole, slowPlaces = [] } = (part === "mixed" ? null : part.group) ?? {};
  for (const doubt of part === "mixed" ? [] : (part.doubts ?? []))
    expect(text.split(doubt.slice(0, -1))).toHaveLength(2);
  expect(text.match(/^ *(=> )?All are slow$/gm) ?? []).toHaveLength(whole ? 1 : 0);
  expect(text.match(/Slot \d is slow$/gm) ?? []).toHaveLength(slowPlaces.length);
});

it.each<[string, Part | "mixed", (string | RegExp)[]]>([
  [
    "what was cleared behind what is slow, and what measuring again has found",
    "mixed",
    [
      /n007 .* slow again .* isolate\n.*n042 .* slow again .*\n.*n063 .* not slow .*\n/,
      "evidence: its link ran at gen5 x8, and those of its group at gen5 x16 (n007)\n",
      " 1 GPU or node not slow when measured again: not counted\n",
      / Nodes +100: 96 measured, 1 late, 2 missing and 1 wrong data\n/,
      / Measured +2026-11-22 09:00 UTC\n/,
      / H2D pinned 64 MiB x1 .* 99\.4 %\n/,
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
    [/missing +3 +n\[2-3,5\] +Nothing came\./],
  ],
  [
    "the first of very many nodes",
    { nodes: ["n1", ...missing(...Array.from({ length: 40 }, (_, i) => `n${3 * i + 10}`))] },
    [/missing +40 +n10, n13, n16 and 37 more +Nothing/],
  ],
  [
    "names that are none as they are",
    { nodes: ["n1", ...missing("n 2", "n3")] },
    [/missing +2 +n 2, n3 +Nothing/],
  ],
  [
    "three names, however long they are",
    { nodes: ["n1", ...missing(...["a", "b", "c"].map((rack) => `gpu-h200-${rack}-of-the-left`))] },
    [/missing +3 +gpu-h200-a-of-the-left,gpu-h200-b-of-the-left,gpu-h200-c-of-the-left +Nothing/],
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
    [/ 1 +n3 +it is too fast +monitor\n.* 1 +n2 +it has 1 GPU +reset\n/],
  ],
  [
    "the losses that are found, in one cell, in all of them, and below healthy machines",
    {
      group: {
        found: [
          { ...found, inOneCell: 0.062, inAllCells: 0.03, belowReference: 0.056 },
          { ...findsNothing[0]!, memory: "pageable", cells: 1 },
        ],
      },
    },
    [
      / Finds losses of +pinned 3\.0 % in all 2 cells or 6\.2 % in one cell or 5\.6 % below healthy machines of its kind; pageable none\n/,
    ],
  ],
  [
    "times in microseconds, with how much slower they make a copy",
    {
      outliers: [
        buildOutlier("n01", {
          cells: [{ ...smallCopy, figure: 14.4, centre: 7.2, change: -0.5, adjustedPValue: 0 }],
        }),
      ],
    },
    [/n01 +1 +50\.0 % +H2D pinned 4 KiB x1 latency +14\.4 µs +7\.20 µs/],
  ],
])("the tables of a fleet have %s", (_, part, texts) => {
  const text = part === "mixed" ? textOf(buildMixedFleet()) : table(part);
  for (const one of texts) {
    if (one instanceof RegExp) expect(text).toMatch(one);
    else expect(text.split(one)).toHaveLength(2);
  }
});

it("what was cleared is muted, and nothing is said of fresh processes that did not run", () => {
  const [rows] = blocksOf(reportOf(fleetKind, buildMixedFleet()), "table");
  expect(rows!.grid.rows.map((row) => row[2]!.tone)).toEqual(["failure", "failure", "muted"]);
  expect(table({ outliers: [buildOutlier("n01")] })).not.toMatch(/ again$/m);
});

it("one direction of a cell that copies both ways is named", () => {
  const cell = "bidir/pinned/67108864/w1/throughput/cold";
  const cells = [{ ...pinnedTo, cell, figure: 20, centre: 40, change: -0.5, adjustedPValue: 0 }];
  const fleet = buildFleet({ outliers: [buildOutlier("n01", { cells })] });
  fleet.groups[0]!.cells[0]!.cell = cell;
  expect(textOf(fleet)).toContain("H2D+D2H pinned 64 MiB x1, of these H2D");
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
      l4(node, { pageable: node === 3 ? 4 : 25 * wobble(node), latency: 4 }, node === 1 ? late : {}),
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
      / Finds in group 1 +pinned .*\n +Finds in group 2 +pageable \d+ % in one cell; pinned latency /,
      /Group 1: 6 nodes, 6 GPUs, NVIDIA H200/,
      /Group 2: 5 nodes, 5 GPUs, L4/,
      / a3 +0 +84\.0 % +H2D pageable 64 MiB x1 +4\.00 GB\/s +25\.0 GB\/s +1 of 2 +2026-11-20 09:00 UTC or before +isolate\n/,
      / H2D pageable 64 MiB x1 +5 +GB\/s +25\.0 +4\.00 +25\.0 +±1\d\.\d+ %\n/,
    ])
      expect(text).toMatch(line);
  });

  it("names the group in each sentence on one", () => {
    const document = fleet();
    const [first, second] = document.groups;
    Object.assign(first!, { tooFew });
    Object.assign(second!, { notes: ["They differ."], slowAsAWhole });
    const text = textOf(document);
    expect(text).toMatch(/^=> group 2: All are slow$/m);
    expect(text).toMatch(/^ *group 1: They are few$/m);
    expect(text).toMatch(/^ *group 2: They differ$/m);
  });

  it("does not say which is slow if one of them is in doubt, and one that cannot tell leaves the other", () => {
    const document = { ...fleet(), outliers: [] };
    const [, second] = document.groups;
    second!.tooFew = tooFew;
    second!.found = second!.found.map((one) => ({ ...one, inOneCell: null }));
    expect(answerOf(textOf(document))[0]).toBe("none of 11 nodes (11 GPUs) is slower than similar ones");
    second!.slowPart = { hosts: ["a0"], reason: "a0 is slow.", action: "monitor" };
    expect(answerOf(textOf(document))[0]).toBe("it is not clear which of 11 nodes (11 GPUs) are slow");
  });

  it("calls a group by its GPU, link and driver, as far as these are known, and by what sets it apart", () => {
    const [one, other] = [{ cpu: "a" }, { cpu: "b" }].map(
      (more) => ({ facts: { gpu: null, driver: null, numaNodes: "2", ...more } }) as unknown as FleetGroup,
    );
    expect(groupFacts(one!, [one!])).toBe("GPU not known, driver not known");
    expect(groupFacts(one!, [one!, other!])).toBe("GPU not known, driver not known, cpu a");
  });
});

it("a GPU that may be slow is unclear, in the answer, the table, the list to drain and the gauges", () => {
  const fleet = judged([], {
    nodes: nodesOf(3, (node) => [{ pinned: [55, 51.2, 27.5][node]!, back: [54, 51, 27][node]! }]),
  });
  expect(fleet).toMatchObject({ outliers: [], suspects: ["n02"] });
  expect(fleet.nodes.map(({ action }) => action)).toEqual(["none", "none", "monitor"]);
  const why = "GPU 0 is 47 % slower than similar ones in d2h pinned 64 MiB, which may be noise";
  expect(answerOf(textOf(fleet))).toEqual([
    "none of 3 nodes (3 GPUs) is called slow, but n02 may be",
    expect.stringMatching(
      /^n02's GPU 0 is 47 % slower .* may be noise: such figures vary by ±\d+ %\. Measure it again$/,
    ),
  ]);
  expect(textOf(fleet)).toContain("Nodes without a valid, complete and clear result");
  expect(textOf(fleet)).toMatch(/unclear +1 +n02 +GPU 0 is 47 % slower .* +monitor\n/);
  expect(drawn(fleetKind, fleet, "drain", wide)).toBe(`# n02 may be slow: ${why}\n`);
  const gauges = drawn(fleetKind, fleet, "openmetrics", wide).split("\n");
  expect(gauges).toContain('pinbench_node_state{host="n02",state="unclear"} 1');
  for (const [state, count] of [
    ["measured", 2],
    ["unclear", 1],
  ] as const)
    expect(gauges).toContain(`pinbench_fleet_nodes{state="${state}"} ${count}`);
});
