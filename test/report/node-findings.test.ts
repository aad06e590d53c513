import { expect, it } from "vitest";
import { sentenceOf } from "../../src/report/findings/finding.js";
import { bindingCommands, nodeFindings, nodeNotes } from "../../src/report/findings/node-findings.js";
import { resultKind } from "../../src/report/result-report.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { drawn } from "../helpers/drawn.js";
import { buildCell, buildDevice, buildDocument } from "../helpers/result-document.js";
import { describeSituations } from "./situations.js";

type Nodes = NonNullable<ResultDocument["numaNodes"]>;
const node = (ordinal: number, part: Partial<Nodes[number]> = {}): Nodes[number] => ({
  node: ordinal,
  cpus: [2 * ordinal, 2 * ordinal + 1],
  hasMemory: true,
  isAllowed: true,
  distances: [],
  ...part,
});

interface Copies {
  device: number;
  memoryNode: number;
  GBps: number;
  memory?: "pinned" | "pageable";
  cpuNode?: number;
  /** All devices copy at once. */
  together?: number[];
  /** Node of the pages, if it is not the requested one. */
  pagesOn?: number | null;
  refused?: boolean;
  relativeHalfWidth?: number;
}

function cellOf({
  device,
  memoryNode,
  GBps,
  memory = "pinned",
  cpuNode = memoryNode,
  together,
  ...rest
}: Copies) {
  const { pagesOn = memoryNode, refused, relativeHalfWidth } = rest;
  const ofNodes = pagesOn === null ? [] : [{ node: pagesOn, pages: 4096 }];
  return buildCell({
    device,
    memory,
    cpuNode,
    memoryNode,
    GBps,
    ...(together === undefined ? {} : { together }),
    ...(relativeHalfWidth === undefined ? {} : { relativeHalfWidth }),
    result: {
      placement: { numaNode: refused ? null : memoryNode, cpus: [0] },
      pages: { kind: "base", arenaBytes: 4096, hugePageBytes: null, ofNodes },
    },
  });
}

/** A result of these copies on devices for which sysfs names these nodes. */
function documentOf(
  sysfs: readonly (number | null)[],
  copies: readonly Copies[],
  nodes = [node(0), node(1)],
) {
  const devices = sysfs.map((numaNode, ordinal) => buildDevice({ ordinal, numaNode, uuid: null }));
  return { ...buildDocument({ devices, cells: copies.map(cellOf) }), numaNodes: nodes };
}

const nearAndFar = (device: number, near: number, GBps: [near: number, far: number]): Copies[] => [
  { device, memoryNode: near, GBps: GBps[0] },
  { device, memoryNode: 1 - near, GBps: GBps[1] },
];

const nodesTo = (last: number) => Array.from({ length: last + 1 }, (_, ordinal) => node(ordinal));
const alike = (ordinals: number[]) =>
  documentOf(
    [0],
    ordinals.map((memoryNode) => ({ device: 0, memoryNode, GBps: 55 })),
    ordinals.map((ordinal) => node(ordinal)),
  );
const atOnce = (devices: readonly number[], GBps: [number, number]) =>
  devices.flatMap((device) => nearAndFar(device, 0, GBps).map((one) => ({ ...one, together: [0, 1] })));
/** A device near node 1: pageable copies with CPUs of node 1, and slower ones with CPUs of node 0. */
const crossed = (device: number, far: number): Copies[] => [
  ...nearAndFar(device, 1, [55, 33]),
  { device, memory: "pageable", memoryNode: 1, GBps: 12 },
  { device, memory: "pageable", memoryNode: 1, cpuNode: 0, GBps: far },
];
const besideAlike = [...nearAndFar(0, 0, [55, 33]), ...nearAndFar(1, 0, [55, 55])];
const threeRates = [55, 33, 20].map((GBps, memoryNode) => ({ device: 0, memoryNode, GBps }));
const alone = nearAndFar(0, 0, [55, 33]);
const named = (part: Partial<Nodes[number]>, rates: [number, number] = [55, 33]) =>
  documentOf([2], nearAndFar(0, 0, rates), [node(0), node(1), node(2, part)]);
/** Pages of both nodes, most of them of node 0, though those of node 1 were requested. */
function split(document: ResultDocument, memoryNodes: readonly number[]): ResultDocument {
  const ofNodes = [
    { node: 1, pages: 100 },
    { node: 0, pages: 4000 },
  ];
  const cells = document.cells.filter((cell) => memoryNodes.includes(cell.memoryNode!));
  return {
    ...document,
    cells: cells.map((cell) =>
      cell.memoryNode === 1 ? { ...cell, pages: { ...cell.pages!, ofNodes } } : cell,
    ),
  };
}
const hidden = alone.map((one) => ({ ...one, cpuNode: 0, pagesOn: null, refused: true }));
const farNodes = [0, 1, 2].map((memoryNode) => ({
  device: 0,
  memoryNode,
  GBps: 55 - 10 * memoryNode,
  cpuNode: 0,
}));
const situations: [string, ResultDocument][] = [
  ["sysfs names the wrong node", documentOf([0], nearAndFar(0, 1, [55, 33]))],
  [
    "sysfs is right for two devices, and names no node for a third",
    documentOf(
      [0, 0, null],
      [...nearAndFar(0, 0, [55, 33]), ...nearAndFar(1, 0, [54, 32]), ...nearAndFar(2, 1, [55, 33])],
    ),
  ],
  [
    "only copies at once lose",
    documentOf(
      [0, 0],
      [...[0, 1].flatMap((device) => nearAndFar(device, 0, [55, 55])), ...atOnce([0, 1], [50, 20])],
    ),
  ],
  [
    "all lose most at once",
    documentOf(
      [0, 0],
      [...nearAndFar(0, 0, [55, 33]), ...nearAndFar(1, 0, [55, 51]), ...atOnce([0, 1], [50, 32])],
    ),
  ],
  ["both nodes are alike", documentOf([0], nearAndFar(0, 0, [55, 55]))],
  ["sysfs names a node that was not measured", named({})],
  ["sysfs names a node that is not online", documentOf([2], alone)],
  ["sysfs names a node without memory", named({ hasMemory: false })],
  [
    "sysfs names a node that the cpuset does not allow, and the others are alike",
    named({ isAllowed: false }, [55, 55]),
  ],
  ["two nodes are slower, and sysfs is right", documentOf([0], threeRates, nodesTo(2))],
  ["two nodes are slower, and sysfs names the first", documentOf([1], threeRates, nodesTo(2))],
  ["two nodes are slower, and sysfs names the second", documentOf([2], threeRates, nodesTo(2))],
  ["four nodes are alike", alike([0, 1, 2, 3])],
  ["seven nodes are alike", alike([0, 1, 2, 3, 5, 8, 9])],
  [
    "three devices have a range of rates",
    documentOf(
      [1, 1, 1],
      [0, 1, 2].flatMap((device) => nearAndFar(device, 1, [[55, 53, 54][device]!, 33])),
    ),
  ],
  [
    "sysfs names another wrong node for two of three devices",
    documentOf(
      [2, 3, 3],
      [0, 1, 2].flatMap((device) => nearAndFar(device, 1, [[55, 53, 54][device]!, 33])),
      nodesTo(3),
    ),
  ],
  ["CPUs of another node cost pageable copies", documentOf([1], crossed(0, 5))],
  ["CPUs of another node cost device 0 most", documentOf([1, 1], [...crossed(0, 5), ...crossed(1, 8)])],
  ["CPUs of another node cost device 1 most", documentOf([1, 1], [...crossed(0, 8), ...crossed(1, 5)])],
  ["there is one node", documentOf([0], [], [node(0)])],
  ["one of two nodes is allowed", documentOf([0], [], [node(1, { isAllowed: false }), node(0)])],
  ["nothing was measured of two nodes", documentOf([0], [])],
  [
    "pages lie on another node",
    documentOf(
      [0],
      alone.map((one) => ({ ...one, pagesOn: 0 })),
    ),
  ],
  ["most pages of one kind of memory lie on another node", split(documentOf([0], alone), [0, 1])],
  ["most pages of all memory lie on another node", split(documentOf([0], alone), [1])],
  [
    "where pages lie is hidden for some of them",
    documentOf([0], [alone[0]!, { ...alone[1]!, pagesOn: null }]),
  ],
  [
    "a node without memory is left out",
    documentOf([0], alone, [node(0), node(1), node(2, { hasMemory: false, isAllowed: false })]),
  ],
  [
    "the system hides, refuses and does not allow",
    documentOf([0], hidden, [node(0), node(1, { cpus: [] }), node(2, { isAllowed: false })]),
  ],
  ["the system refuses one node of two", documentOf([0], [hidden[0]!, { ...hidden[1]!, refused: false }])],
  [
    "two nodes have no CPUs",
    documentOf([0], farNodes, [node(0), node(1, { cpus: [] }), node(2, { cpus: [] })]),
  ],
  [
    "devices of two nodes, as sysfs has it",
    documentOf([0, 1], [...nearAndFar(0, 0, [55, 33]), ...nearAndFar(1, 1, [55, 33])]),
  ],
  [
    "two of three devices have one node",
    documentOf(
      [0, 1, 0],
      [0, 1, 2].flatMap((device) => nearAndFar(device, device === 1 ? 1 : 0, [55, 33])),
    ),
  ],
  ["nodes are alike to the second device, of which sysfs names one", documentOf([0, 1], besideAlike)],
  [
    "sysfs is wrong, and the nearest node has no CPUs",
    documentOf(
      [0],
      nearAndFar(0, 1, [55, 33]).map((one) => ({ ...one, cpuNode: 0 })),
    ),
  ],
  [
    "this process may use no CPU of the right node",
    documentOf(
      [0],
      alone.map((one) => ({ ...one, cpuNode: 1 })),
    ),
  ],
  ["one of two devices was not measured", documentOf([0, 0], alone)],
  [
    "one of two devices is open",
    documentOf(
      [0, 0],
      [...alone, ...nearAndFar(1, 0, [55, 50]).map((one) => ({ ...one, relativeHalfWidth: 0.3 }))],
    ),
  ],
  ["no nodes were compared", buildDocument({ cells: [buildCell({ GBps: 50 })] })],
];

/** The sentences, the notes and the commands to paste. */
describeSituations("nodes", situations, (document) => [
  ...nodeFindings(document).map((finding) => `=> ${sentenceOf(finding)} [${finding.interval}]`),
  ...nodeNotes(document).map(({ text, tone }) => `- [${tone}] ${text}`),
  ...(bindingCommands(document)?.split("\n") ?? []),
]);

it("torchrun's NUMA binding is advised though sysfs names no node for a device equally near to all", () => {
  expect(bindingCommands(documentOf([0, null], besideAlike))).toContain("--numa-binding=node");
});

it("binding commands name devices by UUID, not by CUDA's number", () => {
  const [, document] = situations.find(([name]) => name === "devices of two nodes, as sysfs has it")!;
  const devices = document.devices.map((device, i) => ({ ...device, uuid: `GPU-584424c9-000${i}` }));
  const commands = bindingCommands({ ...document, devices });
  for (const i of [0, 1]) expect(commands).toContain(`CUDA_VISIBLE_DEVICES=GPU-584424c9-000${i} numactl`);
});

it("a result of NUMA nodes has a table of nodes in Markdown, and the node in CSV", () => {
  const document = documentOf([0], nearAndFar(0, 1, [55, 33]));
  expect(drawn(resultKind, document, "markdown")).toContain(
    "| 0 | node 0 | pinned | nearest | alone | 33.0 | 55.0 |",
  );
  expect(drawn(resultKind, document, "csv")).toMatch(/,1,1,node-1,/);
});
