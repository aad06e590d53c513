import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import { bindingCommands, nodeNotes, nodeSentences } from "../../src/report/findings/node-findings.js";
import { resultKind } from "../../src/report/result-report.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { drawn } from "../helpers/drawn.js";
import { buildCell, buildDevice, buildDocument } from "../helpers/result-document.js";

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
  /** Where the pages lie; absent where they should. */
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

describe("the sentences on NUMA nodes", () => {
  it("name a wrong sysfs, what it costs, and the node to bind to", () => {
    const [text] = nodeSentences(documentOf([0], nearAndFar(0, 1, [55, 33])));
    expect(text).toBe(
      "device 0 copies at 55.0 GB/s with memory of node 1 and 33.0 with node 0, which sysfs names (H2D, pinned, alone): bind it to 1",
    );
  });

  it("are one for devices with the same nodes, with the range of their rates", () => {
    const copies = [
      ...nearAndFar(0, 0, [55, 33]),
      ...nearAndFar(1, 0, [54, 32]),
      ...nearAndFar(2, 1, [55, 33]),
    ];
    expect(nodeSentences(documentOf([0, 0, null], copies))).toEqual([
      "devices 0 and 1 copy at 54.0 to 55.0 GB/s with memory of node 0, as sysfs says, and 32.0 to 33.0 with node 1 (H2D, pinned, alone): bind them to 0",
      "device 2 copies at 55.0 GB/s with memory of node 1 and 33.0 with node 0; sysfs names no node (H2D, pinned, alone): bind it to 1",
    ]);
  });

  it("are on copies at once if only these lose", () => {
    const together = [0, 1];
    const copies = [0, 1].flatMap((device) => [
      ...nearAndFar(device, 0, [55, 55]),
      ...nearAndFar(device, 0, [50, 20]).map((one) => ({ ...one, together })),
    ]);
    expect(nodeSentences(documentOf([0, 0], copies))).toEqual([
      "devices 0 and 1 copy at 50.0 GB/s with memory of node 0, as sysfs says, and 20.0 with node 1 (H2D, pinned, all at once): bind them to 0",
    ]);
  });

  it("are on the copies with which all of the devices lose most together", () => {
    const copies = [
      ...nearAndFar(0, 0, [55, 33]),
      ...nearAndFar(1, 0, [55, 51]),
      ...[0, 1]
        .flatMap((device) => nearAndFar(device, 0, [50, 32]))
        .map((one) => ({ ...one, together: [0, 1] })),
    ];
    expect(nodeSentences(documentOf([0, 0], copies))[0]).toContain(
      "at 50.0 GB/s with memory of node 0, as sysfs says, and 32.0 with node 1 (H2D, pinned, all at once)",
    );
  });

  it("say that nodes are alike, or that a named one was not measured", () => {
    expect(nodeSentences(documentOf([0], nearAndFar(0, 0, [55, 55])))).toEqual([
      "device 0 copies equally fast with memory of nodes 0 and 1: binding gains nothing",
    ]);
    const named = (part: Partial<Nodes[number]> | null, rates: [number, number] = [55, 33]) => {
      const third = part === null ? [] : [node(2, part)];
      return nodeSentences(documentOf([2], nearAndFar(0, 0, rates), [node(0), node(1), ...third]))[0];
    };
    expect(named({})).toContain("; sysfs names node 2, which was not measured (H2D,");
    expect(named(null)).toContain("; sysfs names node 2, which is not online (H2D,");
    expect(named({ hasMemory: false })).toContain("; sysfs names node 2, which has no memory (H2D,");
    expect(named({ isAllowed: false }, [55, 55])).toBe(
      "these intervals do not show which of nodes 0 and 1 is nearest to device 0; sysfs names node 2, whose memory the cpuset of this process does not allow",
    );
  });

  it("name all nodes that are slower, with the rates of the nearest of them, or of the one that sysfs names", () => {
    const nodes = [0, 1, 2].map((ordinal) => node(ordinal));
    const rates = [55, 33, 20].map((GBps, memoryNode) => ({ device: 0, memoryNode, GBps }));
    expect(nodeSentences(documentOf([0], rates, nodes))[0]).toMatch(
      /^device 0 copies at 55\.0 GB\/s with memory of node 0, as sysfs says, and \d\d\.0 with node \d \(1 and 2 are slower\) \(H2D,/,
    );
    for (const [named, rate] of [
      [1, "33.0"],
      [2, "20.0"],
    ] as const) {
      expect(nodeSentences(documentOf([named], rates, nodes))[0]).toContain(
        ` with memory of node 0 and ${rate} with node ${named}, which sysfs names (H2D, pinned, alone)`,
      );
    }
  });

  it("give many nodes as ranges", () => {
    const alike = (ordinals: number[]) =>
      nodeSentences(
        documentOf(
          [0],
          ordinals.map((memoryNode) => ({ device: 0, memoryNode, GBps: 55 })),
          ordinals.map((ordinal) => node(ordinal)),
        ),
      )[0];
    expect(alike([0, 1, 2, 3])).toContain("of nodes 0, 1, 2 and 3: binding");
    expect(alike([0, 1, 2, 3, 5, 8, 9])).toContain("of nodes 0-3,5,8-9: binding");
  });

  it("are two for devices whose nodes sysfs names otherwise, with the whole range of rates whatever their order", () => {
    const copies = [0, 1, 2].flatMap((device) => nearAndFar(device, 1, [[55, 53, 54][device]!, 33]));
    expect(nodeSentences(documentOf([1, 1, 1], copies))[0]).toContain("copy at 53.0 to 55.0 GB/s");
    expect(
      nodeSentences(
        documentOf(
          [2, 3, 3],
          copies,
          [0, 1, 2, 3].map((one) => node(one)),
        ),
      ),
    ).toHaveLength(2);
  });

  it("say what CPUs of another node cost pageable copies", () => {
    const pageable = [1, 0].map((cpuNode) => ({ cpuNode, memory: "pageable" as const }));
    const copies = [
      ...nearAndFar(0, 1, [55, 33]),
      ...pageable.map((one) => ({ ...one, device: 0, memoryNode: 1, GBps: one.cpuNode === 1 ? 12 : 5 })),
    ];
    expect(nodeSentences(documentOf([1], copies))[1]).toBe(
      "pageable copies of device 0 reach 12.0 GB/s with memory and CPUs of node 1 and 5.00 with CPUs of node 0 (H2D, alone)",
    );
  });

  it("say what CPUs of another node cost the device that loses most by them", () => {
    const crossed = (device: number, far: number): Copies[] => [
      ...nearAndFar(device, 1, [55, 33]),
      { device, memory: "pageable", memoryNode: 1, GBps: 12 },
      { device, memory: "pageable", memoryNode: 1, cpuNode: 0, GBps: far },
    ];
    for (const [first, second] of [
      [5, 8],
      [8, 5],
    ] as const) {
      const sentences = nodeSentences(documentOf([1, 1], [...crossed(0, first), ...crossed(1, second)]));
      expect(sentences.at(-1)).toMatch(
        new RegExp(`^pageable copies of device ${first < second ? 0 : 1} reach 12\\.0 .* and 5\\.00 with`),
      );
    }
  });

  it("say why nothing was measured", () => {
    expect(nodeSentences(documentOf([0], [], [node(0)]))).toEqual([
      "this machine has one NUMA node, node 0: there is nothing to compare, and nothing was measured",
    ]);
    expect(nodeSentences(documentOf([0], [], [node(1, { isAllowed: false }), node(0)]))).toEqual([
      "this process can have memory of one NUMA node, node 0: there is nothing to compare, and nothing was measured",
    ]);
  });

  it("are absent from other results", () => {
    expect(nodeSentences(buildDocument({ cells: [buildCell({ GBps: 50 })] }))).toEqual([]);
  });
});

describe("the notes on NUMA nodes", () => {
  const notesOn = (...document: Parameters<typeof documentOf>) =>
    nodeNotes(documentOf(...document)).map(({ text }) => text);

  it("say that pages lie elsewhere, whose figures do not count", () => {
    const copies = nearAndFar(0, 0, [55, 33]).map((one) => ({ ...one, pagesOn: 0 }));
    expect(notesOn([0], copies)).toEqual([
      expect.stringMatching(/^memory of node 1 was asked for.* pages of node 0/),
    ]);
    expect(nodeSentences(documentOf([0], copies))).toEqual([
      "these figures do not show which NUMA node is nearest to which device",
    ]);
  });

  it("leave out nodes without memory, which nobody could have used", () => {
    const nodes = [node(0), node(1), node(2, { hasMemory: false, isAllowed: false })];
    expect(notesOn([0], nearAndFar(0, 0, [55, 33]), nodes).join()).not.toContain("left out");
  });

  it("name the nodes on which pages lie instead, and nothing hidden if only some of them are", () => {
    const [near, far] = nearAndFar(0, 0, [55, 33]);
    const cells = documentOf([0], [near!, far!]);
    const [first, second] = cells.cells;
    const ofNodes = [
      { node: 1, pages: 100 },
      { node: 0, pages: 4000 },
    ];
    const split = { ...second!, pages: { ...second!.pages!, ofNodes } };
    expect(nodeNotes({ ...cells, cells: [first!, split] }).map(({ text }) => text)).toEqual([
      expect.stringMatching(
        /^memory of node 1 was asked for, and the system gave pages of node 0: node 1 is full/,
      ),
    ]);
    expect(nodeNotes({ ...cells, cells: [split] })).toHaveLength(1);
    expect(notesOn([0], [near!, { ...far!, pagesOn: null }])).toEqual([
      expect.stringContaining("the pages of all measured memory"),
    ]);
  });

  it("say in one sentence each what the system hides, refuses and does not allow", () => {
    const copies = nearAndFar(0, 0, [55, 33]).map((one) => ({
      ...one,
      cpuNode: 0,
      pagesOn: null,
      refused: true,
    }));
    const nodes = [node(0), node(1, { cpus: [] }), node(2, { isAllowed: false })];
    const refusal = expect.stringContaining("the system refuses to choose the node of memory (set_mempolicy");
    expect(notesOn([0], copies, nodes)).toEqual([
      refusal,
      expect.stringContaining("where the pages lie is not verified"),
      expect.stringContaining("left out: memory of node 2, which the cpuset of this process does not allow"),
      "node 1 has no CPU that this process may use: its memory was used from CPUs of node 0",
    ]);
    expect(notesOn([0], [copies[0]!, { ...copies[1]!, refused: false }])).toContainEqual(refusal);
    expect(notesOn([0], [])).toEqual([]);
  });

  it("name all nodes without CPUs that were used from the same ones", () => {
    const copies = [1, 2].flatMap((far) => [
      { device: 0, memoryNode: 0, GBps: 55 },
      { device: 0, memoryNode: far, GBps: 33, cpuNode: 0 },
    ]);
    expect(notesOn([0], copies, [node(0), node(1, { cpus: [] }), node(2, { cpus: [] })])).toEqual([
      "nodes 1 and 2 have no CPU that this process may use: their memory was used from CPUs of node 0",
      expect.stringContaining("the pages of all measured memory"),
    ]);
  });

  it("say only with --verbose that nothing is wrong", () => {
    const document = documentOf([0], nearAndFar(0, 0, [55, 33]));
    const [brief, all] = [false, true].map((isVerbose) =>
      drawn(resultKind, document, "table", fileScreen({ columns: 100, isVerbose })),
    );
    expect(brief).not.toContain("the pages of all measured");
    expect(all).toContain("the pages of all measured");
  });
});

describe("the commands to paste", () => {
  it("name devices so that a program finds them though pinbench saw others renumbered", () => {
    const document = documentOf([0, 1], [...nearAndFar(0, 0, [55, 33]), ...nearAndFar(1, 1, [55, 33])]);
    const devices = document.devices.map((device, i) => ({ ...device, uuid: `GPU-584424c9-000${i}` }));
    const commands = bindingCommands({ ...document, devices });
    for (const i of [0, 1]) expect(commands).toContain(`CUDA_VISIBLE_DEVICES=GPU-584424c9-000${i} numactl`);
  });

  it("have all devices of a node in one command", () => {
    const copies = [0, 1, 2].flatMap((device) => nearAndFar(device, device === 1 ? 1 : 0, [55, 33]));
    const commands = bindingCommands(documentOf([0, 1, 0], copies));
    expect(commands).toContain("CUDA_VISIBLE_DEVICES=0,2 numactl --cpunodebind=0 --membind=0");
    expect(commands).toContain("CUDA_VISIBLE_DEVICES=1 numactl --cpunodebind=1 --membind=1");
  });

  it("follow sysfs for devices to which all nodes are alike", () => {
    const copies = [...nearAndFar(0, 0, [55, 33]), ...nearAndFar(1, 0, [55, 55])];
    for (const sysfs of [1, null])
      expect(bindingCommands(documentOf([0, sysfs], copies))).toContain("--numa-binding=node");
  });

  it("follow sysfs if it is right", () => {
    expect(
      bindingCommands(documentOf([0, 1], [...nearAndFar(0, 0, [55, 33]), ...nearAndFar(1, 1, [55, 33])])),
    ).toBe(
      [
        "# any program, by node",
        "CUDA_VISIBLE_DEVICES=0 numactl --cpunodebind=0 --membind=0 COMMAND",
        "CUDA_VISIBLE_DEVICES=1 numactl --cpunodebind=1 --membind=1 COMMAND",
        "# PyTorch",
        "torchrun --nproc-per-node=2 --numa-binding=node train.py",
        "# vLLM",
        "vllm serve MODEL --tensor-parallel-size 2 --numa-bind --numa-bind-nodes 0 1",
        "# Slurm, a task for each GPU",
        "srun --ntasks-per-node=2 --cpu-bind=map_ldom:0,1 --mem-bind=map_mem:0,1 COMMAND",
      ].join("\n"),
    );
  });

  it("name the nodes for torchrun if sysfs is wrong, and none for vLLM if a node has no CPUs", () => {
    const copies = nearAndFar(0, 1, [55, 33]).map((one) => ({ ...one, cpuNode: 0 }));
    const text = bindingCommands(documentOf([0], copies));
    expect(text).toMatch(
      /bash -c 'c=\(0\); m=\(1\); i=\$LOCAL_RANK; exec numactl --cpunodebind=\$\{c\[i\]\}/,
    );
    expect(text).not.toContain("vllm");
  });

  it("name the nodes for torchrun if this process may use no CPU of the right node", () => {
    const copies = nearAndFar(0, 0, [55, 33]).map((one) => ({ ...one, cpuNode: 1 }));
    const text = bindingCommands(documentOf([0], copies));
    expect(text).toContain("c=(1); m=(0)");
    expect(text).not.toContain("numa-binding");
  });

  it("are absent if nothing is nearer, or if a device is open", () => {
    expect(bindingCommands(documentOf([0], nearAndFar(0, 0, [55, 55])))).toBeNull();
    expect(bindingCommands(documentOf([0, 0], nearAndFar(0, 0, [55, 33])))).toBeNull();
    const varying = nearAndFar(1, 0, [55, 50]).map((one) => ({ ...one, relativeHalfWidth: 0.3 }));
    expect(bindingCommands(documentOf([0, 0], [...nearAndFar(0, 0, [55, 33]), ...varying]))).toBeNull();
  });
});

it("a result of NUMA nodes has a table with a column for each node, in all formats", () => {
  const document = documentOf([0], nearAndFar(0, 1, [55, 33]));
  const markdown = drawn(resultKind, document, "markdown");
  expect(markdown).toContain("| device | sysfs | memory | CPUs |  | node 0 | node 1 |");
  expect(markdown).toContain("| 0 | node 0 | pinned | nearest | alone | 33.0 | 55.0 |");
  expect(drawn(resultKind, document, "csv")).toMatch(/,1,1$/m);
});
