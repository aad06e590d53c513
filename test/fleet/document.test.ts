import { describe, expect, it } from "vitest";
import { doubtsOn, leftOutText } from "../../src/fleet/doubtful-results.js";
import { fleetSchema } from "../../src/fleet/fleet-document.js";
import { actionOnNode, actionOnOutlier } from "../../src/fleet/judge-fleet.js";
import { figuresOfNode, keyOf, type NodeFigures } from "../../src/fleet/node-figures.js";
import { fleetAnswer } from "../../src/fleet/report/fleet-answer.js";
import { countGpus, fleetCellNames } from "../../src/fleet/report/fleet-text.js";
import { judged, nodeResult, nodeResults } from "../helpers/node-results.js";
import {
  facts,
  fleetNode,
  fleetNodes,
  type GpuFigures,
  hostOf,
  nodesOf,
  wobble,
} from "../helpers/plain-nodes.js";

/** What the document of a fleet has besides who is slow. */

type Request = Parameters<typeof judged>[1];
const fleetOf = (nodes: readonly NodeFigures[], request: Request = {}) => judged([], { nodes, ...request });
const alone = (...figures: GpuFigures[]) => fleetOf(fleetNodes(figures.map((figure) => [figure])));
const known = (rate: number, more: object = {}): Request => ({
  referenceOf: () => ({ h2d: rate, d2h: rate, together: null, tolerance: 0.05, source: "x", ...more }),
});
const sentencesOf = (document: ReturnType<typeof fleetOf>) =>
  fleetAnswer(document, fleetCellNames(document)).map(({ text }) => text);

it("a healthy fleet's document is valid, and says from which loss on a GPU would be slow", () => {
  const fleet = judged(nodeResults(12));
  expect(fleetSchema.parse(fleet)).toEqual(fleet);
  const [group, ...others] = fleet.groups;
  expect(others).toEqual([]);
  expect(group).toMatchObject({ nodes: 12, devices: 24, slowPart: null, tooFew: null, notes: [] });
  const [pinned, pageable, latency] = group!.cells;
  expect(pinned).toMatchObject({ figures: 24, unit: "GB/s", centre: expect.closeTo(55, 0) });
  expect(pinned!.leastLoss).toBeGreaterThan(0.05);
  expect(pinned!.leastLoss).toBeLessThan(0.07);
  expect(pageable!.leastLoss).toBeGreaterThan(0.15);
  expect(pageable!.logDeviation).toBeGreaterThan(pinned!.logDeviation);
  expect(latency).toMatchObject({ figures: 24, unit: "us", centre: expect.closeTo(2, 1) });
});

describe("a fleet of two kinds", () => {
  const l4 = (name: string, figures: GpuFigures, changes: Partial<NodeFigures> = {}) =>
    fleetNode(name, [figures], { facts: { ...facts, gpu: "L4", gpuCount: "1" }, ...changes }, () => ({
      name: "L4",
    }));
  const h200 = nodesOf(
    8,
    (node) => [50 * wobble(node), { pinned: 52 * wobble(node), latency: 4 }],
    (node) => (node === 6 ? { labels: { rack: "r6" }, notice: "emulated" } : {}),
  );
  const without = fleetNode("x9", [{}, {}], { state: "failed", reason: "its result has no figures" });
  // Nodes of both kinds in turns, and the larger group's last.
  const nodes = [
    l4("a0", 25),
    h200[7]!,
    l4("a1", 26, { notes: ["of its own"] }),
    ...h200.slice(0, 7),
    without,
    l4("a2", { latency: 3 }),
  ];
  const fleet = () => fleetOf(nodes);

  it("has the larger group first, and the figures of each in the order of its nodes and GPUs", () => {
    expect(fleet().groups.map((one) => [one.facts.gpu, one.nodes, one.devices])).toEqual([
      ["NVIDIA H200", 8, 16],
      ["L4", 3, 3],
    ]);
    expect(fleet().nodes.map(({ host, group }) => `${host} ${group}`)).toEqual([
      "a0 1",
      "n07 0",
      "a1 1",
      ...[0, 1, 2, 3, 4, 5, 6].map((n) => `n0${n} 0`),
      "x9 null",
      "a2 1",
    ]);
    const [pinned, latency] = fleet().groups[0]!.cells;
    const values = [7, 0, 1, 2, 3, 4, 5, 6].flatMap((node) => [50 * wobble(node), 52 * wobble(node)]);
    const [lowest, highest] = [expect.closeTo(50 * wobble(0), 8), expect.closeTo(52 * wobble(2), 8)];
    expect(pinned).toMatchObject({ unit: "GB/s", figures: 16, values, lowest, highest });
    expect(latency).toMatchObject({
      unit: "us",
      figures: 8,
      lowest: expect.closeTo(4),
      highest: expect.closeTo(4),
    });
    expect(latency!.values).toEqual(Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? null : 4)));
    expect(fleet().groups[1]!.cells.map((cell) => cell.values)).toEqual([
      [25, 26, null],
      [null, null, 3],
    ]);
  });

  it("has the slow and the cleared GPUs of both, the slowest first", () => {
    const changed: Record<string, NodeFigures> = {
      n03: fleetNode("n03", [40, 52]),
      a1: l4("a1", { latency: 30 }),
    };
    const slow = [
      ...nodes.map((node) => changed[node.host] ?? node),
      ...[3, 4, 5].map((i) => l4(`a${i}`, { latency: 3 * wobble(i) })),
    ];
    const both = ["a1 in 1", "n03 in 0"];
    const placesOf = (ones: { host: string; group: number }[]) =>
      ones.map(({ host, group }) => `${host} in ${group}`);
    expect(placesOf(fleetOf(slow).outliers)).toEqual(both);
    const again = fleetOf(slow, { fresh: [fleetNode("n03", [50, 52]), l4("a1", { latency: 3 })] });
    expect(again.outliers).toEqual([]);
    expect(placesOf(again.cleared)).toEqual(both);
  });

  it("has doubts on the reference of the second group too", () => {
    const referenceOf = ({ name }: { name: string }) =>
      name === "L4" ? { h2d: 20, d2h: 20, together: null, tolerance: 0.05, source: "x" } : null;
    expect(fleetOf(nodes, { referenceOf }).doubts).toEqual([
      expect.stringMatching(
        /^L4: 2\d % faster than the reference in h2d pinned 64 MiB \(x\), so it misses losses/,
      ),
    ]);
  });

  it("keeps what each node is, and the first notice", () => {
    expect(fleet().nodes[9]).toMatchObject({
      ...{ host: "n06", state: "measured", runId: "run-of-n06", labels: { rack: "r6" }, action: "none" },
      devices: [
        { ordinal: 0, name: "NVIDIA H200", uuid: "GPU-n06-0", pciBusId: "0000:10:00.0", link: "gen5 x16" },
        { ordinal: 1, uuid: "GPU-n06-1" },
      ],
    });
    expect([fleet().notice, fleetOf(nodes.slice(0, 3)).notice]).toEqual(["emulated", null]);
    expect(fleet().nodes[10]).toMatchObject({ state: "failed", group: null, notes: [], action: "reset" });
  });

  it("says what a node lacks of what more than half of the most GPUs have", () => {
    const notesOf = (name: string) => fleet().nodes.find(({ host }) => host === name)!.notes;
    expect(notesOf("a1")).toEqual(["of its own"]);
    expect(notesOf("a2")).toEqual(["it has no figures of 1 of its group's 1 cell"]);
    const lacks = (count: number) =>
      fleetOf(nodesOf(8, (node) => [node < count ? { pinned: 50, latency: 4 } : 50])).nodes[7]!.notes;
    expect(lacks(4)).toEqual([]);
    expect(lacks(5)).toEqual(["it has no figures of 1 of its group's 2 cells"]);
    expect(fleetOf([fleetNode("n0", [50, {}])]).nodes[0]!.notes).toEqual([]);
  });
});

describe("an outlier", () => {
  it("has its figures, its like's and the change of each slow cell, the largest loss first, and what may be the reason", () => {
    const own = { facts: { ...facts, gpuCount: "1", governor: "powersave" } };
    const others = { facts: { ...facts, gpuCount: "1", governor: "performance" } };
    const nodes = Array.from({ length: 12 }, (_, i) =>
      i === 3
        ? fleetNode("n03", [{ pinned: 40, latency: 16 }], own, () => ({ link: { generation: 5, width: 8 } }))
        : fleetNode(hostOf(i), [{ pinned: 50 * wobble(i), latency: 4 * wobble(i) }], others),
    );
    const [outlier, ...more] = fleetOf(nodes).outliers;
    expect(more).toEqual([]);
    expect(outlier).toMatchObject({
      ...{
        host: "n03",
        device: 0,
        uuid: "GPU-n03-0",
        group: 0,
        together: null,
        confirmed: null,
        action: "reset",
      },
      since: { startedAt: "2026-11-20T09:00:00.000Z", lastHealthy: null },
      reason: expect.stringMatching(
        /^n03's GPU 0 takes 4 times as long, in 2 of 2 cells; most of all h2d pinned 4 KiB latency: 16 instead of 4 µs\.$/,
      ),
      evidence: [
        "Its link ran at gen5 x8 under load, and can do gen5 x16.",
        "Its governor: powersave; 11 of 12 nodes have performance.",
      ],
    });
    expect(outlier!.cells.map(({ unit, figure, centre, change }) => [unit, figure, centre, change])).toEqual([
      ["us", expect.closeTo(16, 6), expect.closeTo(4, 2), expect.closeTo(-0.75, 3)],
      ["GB/s", expect.closeTo(40, 6), expect.closeTo(50, 1), expect.closeTo(-0.2, 3)],
    ]);
  });

  it("is of the node as a whole, in its middle", () => {
    const nodes = nodesOf(12, (node) =>
      node === 5 ? [40, 41, 42] : [50, 50, 50].map((one) => one * wobble(node)),
    );
    expect(fleetOf(nodes).outliers).toMatchObject([
      {
        device: null,
        uuid: null,
        reason: expect.stringMatching(/^n05 as a whole is 18 % slower in h2d pinned 64 MiB: /),
      },
    ]);
  });

  it("is called by its own number, also if only later GPUs were measured, or others have no figure", () => {
    const devicesOf = (nodes: readonly NodeFigures[]) => fleetOf(nodes).outliers.map(({ device }) => device);
    const later = nodesOf(12, (node) => [node === 5 ? 40 : 50 * wobble(node)]).map((node) => ({
      ...node,
      devices: node.devices.map((one) => ({ ...one, ordinal: 4 })),
    }));
    expect(devicesOf(later)).toEqual([4]);
    expect(
      devicesOf(nodesOf(12, (node) => (node === 5 ? [40, {}] : [50 * wobble(node), 50 * wobble(node)]))),
    ).toEqual([0]);
  });

  it("asks to be isolated from a loss of a tenth on in any cell, to be reset with a narrow link, and to be watched", () => {
    const of = (confirmed: boolean | null, isTrainedDown: boolean, ...changes: number[]) =>
      actionOnOutlier({ cells: changes.map((change) => ({ change })) as never, confirmed, isTrainedDown });
    expect(of(null, false, -0.05, -0.1)).toBe("isolate");
    expect(of(true, false, -0.099, -0.05)).toBe("monitor");
    expect(of(true, true, -0.5)).toBe("reset");
    expect(of(false, true, -0.5)).toBe("none");
    const states = ["wrong data", "failed", "late", "missing", "unreadable", "measured"] as const;
    const actions = ["isolate", "reset", "reset", "reset", "monitor", "none"];
    expect(states.map((state) => actionOnNode(state))).toEqual(actions);
  });
});

describe("a slow part of the nodes", () => {
  it.each([
    ["5.4", "6.1", /part is healthy; the slow ones alone have kernel 5\.4\.$/],
    ["5.4", "5.4", /part is healthy\.$/],
    ["5.4", null, /part is healthy\.$/],
    [null, "6.1", /part is healthy\.$/],
  ])(
    "with kernel %s beside one with %s is said to have it alone only if that is known",
    (slow, fast, reason) => {
      const nodes = nodesOf(
        8,
        (node) => [(node < 4 ? 25 : 50) * wobble(node)],
        (node) => ({ facts: { ...facts, kernel: node < 4 ? slow : node === 7 ? fast : (fast ?? "6.1") } }),
      );
      expect(fleetOf(nodes).groups[0]!.slowPart!.reason).toMatch(reason);
    },
  );

  it("is reported in the cell with the clearer gap", () => {
    const reasonOf = (pinned: number, back: number) =>
      fleetOf(
        nodesOf(8, (node) => [
          node < 4 ? { pinned, back } : { pinned: 50 * wobble(node), back: 50 * wobble(node) },
        ]),
      ).groups[0]!.slowPart!.reason;
    const parts = "4 with 25 GB/s (n00, n01, n02 and 1 more) and 4 with 50 GB/s in";
    expect(reasonOf(25, 40)).toContain(`${parts} h2d pinned 64 MiB`);
    expect(reasonOf(40, 25)).toContain(`${parts} d2h pinned 64 MiB`);
  });

  const [slow, fast] = [25, 50].map((rate) => ({ pinned: rate, back: rate }));
  it.each<[string, GpuFigures[], string[] | null]>([
    ["two cells", [slow!, fast!], ["n00"]],
    ["one of two cells", [{ ...fast, pinned: 25 }, fast!], null],
    ["the only cell", [25, 50], ["n00"]],
    ["two cells, of most nodes", [slow!, slow!, slow!, fast!], ["n00", "n01", "n02"]],
    ["one of two cells, of most nodes", [slow!, slow!, slow!, { ...slow, pinned: 50 }], null],
    [
      "two cells, of another node each",
      [
        { pinned: 25, back: 50 },
        { pinned: 50, back: 25 },
      ],
      null,
    ],
    [
      "a cell of another kind",
      [
        { ...fast, pinned: 25, pageable: 5 },
        { ...fast, pageable: 10 },
      ],
      ["n00"],
    ],
    [
      "one of two cells, of half of four nodes",
      [{ ...fast, pinned: 25 }, { ...fast, pinned: 25 }, fast!, fast!],
      ["n00", "n01"],
    ],
  ])("of few nodes is one that no single process shows: in %s", (_, figures, part) => {
    expect(alone(...figures).groups[0]!.slowPart?.hosts ?? null).toEqual(part);
  });
});

describe("figures above what a link carries", () => {
  const reasonsOf = (nodes: readonly NodeFigures[]) =>
    fleetOf(nodes).nodes.flatMap(({ reason }) => reason ?? []);
  const each = (...figures: GpuFigures[]) => fleetNodes(figures.map((figure) => [figure]));
  const linkless = (nodes: readonly NodeFigures[]) =>
    nodes.map((node) => ({
      ...node,
      devices: node.devices.map((one) => ({ ...one, linkCapability: null })),
    }));

  it("do not count: the clock is wrong, and the others are the centre", () => {
    const { groups, nodes, outliers } = fleetOf(
      each(50, 50.1, { pinned: 83, pageable: 10, latency: 4 }, 49.9),
    );
    expect(groups[0]!.cells.map(({ figures }) => figures)).toEqual([3, 1, 1]);
    expect(groups[0]!.cells[0]).toMatchObject({ centre: expect.closeTo(50), highest: expect.closeTo(50.1) });
    expect([groups[0]!.slowPart, outliers]).toEqual([null, []]);
    expect(nodes[2]).toMatchObject({
      ...{ state: "incomplete", action: "monitor" },
      reason:
        "GPU 0: 83 GB/s in h2d pinned 64 MiB is more than its link carries (63 GB/s), so this figure does not count; look at the machine's clock",
    });
  });

  it.each<[string, readonly NodeFigures[], RegExp[]]>([
    [
      "the largest of two",
      each(50, 50, { pinned: 83, back: 84 }, 50),
      [/^GPU 0: 84 .* d2h .* 2 such figures do/],
    ],
    [
      "both GPUs",
      fleetNodes([
        [50, 50],
        [83, 84],
        [50, 50],
      ]),
      [/^GPU 0, 1: up to 84 GB\/s .* 2 such figures/],
    ],
    [
      "the second GPU",
      fleetNodes([
        [50, 50],
        [50, 83],
        [50, 50],
      ]),
      [/^GPU 1: 83 GB\/s /],
    ],
    ["half of the nodes", each(83, 83, 50, 50), [/^GPU 0/, /^GPU 0/]],
    ["none within 2 %", each(50, 50, 64.2, 50), []],
    ["no latency", each(50, 50, { latency: 83 }, 50), []],
    [
      "none where another direction is known of the GPU alone",
      each(50, 50, { pinned: 83, back: 50 }, 50),
      [],
    ],
    ["none where most have them, whose link is misread", each(80, 80, 80, 50), []],
    ["none of an unknown link", linkless(each(50, 50, 83, 50)), []],
  ])("are reported of %s", (_, nodes, reasons) => {
    expect(reasonsOf(nodes)).toEqual(reasons.map((reason) => expect.stringMatching(reason)));
  });

  it("are measured by each GPU's own link, of copies over it", () => {
    const mixed = nodesOf(4, (node) => [node === 0 ? 25 : 50, 50]);
    const narrow = { ...mixed[0]!.devices[0]!, linkCapability: { generation: 5, width: 8 } };
    mixed[0] = { ...mixed[0]!, devices: [narrow, mixed[0]!.devices[1]!] };
    const within = keyOf({ cell: "d2d/device/67108864/w1/throughput/cold", moved: "d2d", unit: "GB/s" });
    const copied = nodesOf(4, () => [50]).map((node) => ({
      ...node,
      devices: node.devices.map((one) => ({ ...one, figures: new Map([...one.figures, [within, 1500]]) })),
    }));
    for (const nodes of [mixed, copied]) {
      expect(fleetOf(nodes).doubts).toEqual([]);
      expect(reasonsOf(nodes)).toEqual([]);
    }
  });

  it("of most GPUs are in doubt, and the first lines say so", () => {
    const nodes = nodesOf(4, (node) => [node === 0 ? 50 : 80]);
    const doubt =
      "3 GPUs copied more than their link carries (63 GB/s): NVML misreports the link, or the clocks are wrong, so shares of healthy rates are not valid";
    expect(sentencesOf(fleetOf(nodes))).toContain(doubt);
    // That they are faster than a reference is nothing new then.
    for (const request of [{}, known(50)]) expect(fleetOf(nodes, request).doubts).toEqual([`${doubt}.`]);
  });
});

it("nodes with figures but wrong data are judged and counted as others, in which GPUs without figures do not count", () => {
  const wrong = { state: "wrong data", reason: "copies of GPU 0 came back wrong" } as const;
  const answerOf = (ofWrong: readonly GpuFigures[]) => {
    const healthy = nodesOf(4, (node) => [50 * wobble(node), {}, 50 * wobble(node + 1)]);
    const document = fleetOf([...healthy, fleetNode("n09", ofWrong, wrong)]);
    expect(document.groups[0]!.devices).toBe(countGpus(document));
    return sentencesOf(document)[0];
  };
  expect(answerOf([50, {}, 49.99])).toBe("none of 5 nodes (10 GPUs) is slower than similar ones");
  expect(answerOf([25, {}, 25])).toMatch(/^1 of 5 nodes is slow: all GPUs of n09 /);
});

describe("results that are valid and mislead", () => {
  const now = "2026-11-20T12:00:00.000Z";
  const nodes = nodesOf(4, () => [50, 50]);
  const at = (host: string, startedAt: string) => fleetNode(host, [50, 50], { startedAt });
  const sharing = (host: string, ...uuids: string[]) =>
    fleetNode(
      host,
      uuids.map(() => 50),
      {},
      (gpu) => ({ uuid: uuids[gpu]! }),
    );

  it.each<[string, NodeFigures[], (string | RegExp)[]]>([
    ["nothing of different GPUs", [], []],
    [
      "two GPUs in two results",
      [sharing("x1", "GPU-n02-0", "GPU-n02-1")],
      [
        "2 GPUs are in results of several nodes (n02 and x1): a machine has two names, a result is a copy, or GPUs were moved.",
      ],
    ],
    ["no emulated ones", [{ ...sharing("x1", "GPU-n02-0"), notice: "emulated" }], []],
    [
      "GPUs in three results",
      [sharing("x2", "GPU-n01-0", "GPU-n03-1")],
      [/^2 GPUs are in .* \(n01, x2 and n03\): /],
    ],
    ["one GPU", [sharing("x3", "GPU-n01-0")], [/^1 GPU is in results of several nodes \(n01 and x3\): /]],
    ["no clock that is 9 minutes ahead", [at("n04", "2026-11-20T12:09:00.000Z")], []],
    [
      "a clock that is more ahead",
      [at("n04", "2026-11-20T12:11:00.000Z")],
      ["The clock of n04 is wrong: a result is of 2026-11-20 12:11 UTC, in the future."],
    ],
    [
      "two clocks",
      [at("n04", "2036-11-20T12:11:00.000Z"), at("n05", "2036-11-20T12:12:00.000Z")],
      ["The clocks of n04 and n05 are wrong: a result is of 2036-11-20 12:11 UTC, in the future."],
    ],
    ["no result of 30 days ago", [at("n04", "2026-10-21T09:00:00.000Z")], []],
    [
      "an older one",
      [at("n04", "2026-10-20T09:00:00.000Z")],
      ["The result of n04 is 31 days older than the latest: measure again."],
    ],
    [
      "two older ones",
      [at("n04", "2026-10-20T09:00:00.000Z"), at("n05", "2026-10-18T09:00:00.000Z")],
      ["The results of n05 and n04 are up to 33 days older than the latest: measure again."],
    ],
  ])("cause doubts: %s", (_, others, doubts) => {
    expect(doubtsOn([...nodes, ...others], now)).toEqual(
      doubts.map((doubt) => (typeof doubt === "string" ? doubt : expect.stringMatching(doubt))),
    );
  });

  it("a UUID that several GPUs of a result have identifies none of them", () => {
    const device = (gpu: number) => ({ uuid: gpu === 2 ? "GPU-2" : "GPU-same" });
    const { devices } = figuresOfNode(nodeResult("n01", { gpus: 3, device }), null);
    expect(devices.map(({ uuid }) => uuid)).toEqual([null, null, "GPU-2"]);
  });

  it("nodes of which --since leaves out all results are named, each once", () => {
    const old = at("n01", "2026-10-20T09:00:00.000Z");
    const left = [old, ..."56789".split("").map((i) => at(`m${i}`, now))];
    const text = (...[ofLeft, since]: [NodeFigures[], string]) => leftOutText(ofLeft, nodes, since);
    expect(text(left, "2026-11-01T00:00:00.000Z")).toEqual([
      "5 nodes are not judged, because all results are from before 2026-11-01 00:00 UTC: m5, m6, m7 and 2 more.",
    ]);
    expect(text([old], now)).toEqual([]);
    expect(text([left[1]!, left[1]!], now)).toEqual([
      expect.stringMatching(/^1 node is not judged, .* 12:00 UTC: m5\.$/),
    ]);
  });
});

it("of two nodes alone the one whose copies take longer is the slower one", () => {
  expect(alone({ latency: 4 }, { latency: 8 }).groups[0]!.tooFew).toContain("n01 is 50 % slower than n00");
});

it("a loss that no similar healthy GPU shows to be noise is in doubt", () => {
  const nodes = fleetNodes([[45], [25]]);
  expect(fleetOf(nodes, known(50)).doubts).toEqual([
    "n00's GPU 0 is 10 % below healthy machines in h2d pinned 64 MiB, which may be noise: no similar healthy GPU shows how much such figures vary. Measure it again.",
  ]);
  const again = (rate: number) => fleetOf(nodes, { ...known(50), fresh: [fleetNode("n00", [rate])] });
  expect(
    again(45)
      .outliers.map(({ host }) => host)
      .sort(),
  ).toEqual(["n00", "n01"]);
  expect(again(50).outliers.map(({ host }) => host)).toEqual(["n01"]);
});
