import { formatGBps } from "../../draw/numbers.js";
import { groupBy, type Note, note } from "../../draw/report.js";
import { listed } from "../../draw/words.js";
import { directionName } from "../../results/naming/wording.js";
import {
  crossedCosts,
  type DeviceNodes,
  isElsewhere,
  isLocal,
  type PlacedCell,
  placedCells,
  verdictsOnNodes,
} from "../../results/nodes/node-rates.js";
import type { ResultDocument } from "../../results/schema.js";
import { ascending } from "../../stats/order-statistics.js";
import { equalWidth } from "./finding-evidence.js";

/** The sentences on NUMA nodes, without full stops; empty without `--numa all`. */
export function nodeSentences(document: ResultDocument): string[] {
  const { numaNodes } = document;
  if (numaNodes == null) return [];
  if (placedCells(document).length === 0) {
    const [only] = numaNodes.filter(({ hasMemory, isAllowed }) => hasMemory && isAllowed);
    const why =
      numaNodes.length === 1
        ? "this machine has one NUMA node"
        : "this process can have memory of one NUMA node";
    return [
      `${why}${only === undefined ? "" : `, node ${only.node}`}: there is nothing to compare, and nothing was measured`,
    ];
  }
  const verdicts = verdictsOnNodes(document, equalWidth(document));
  if (verdicts.length === 0) return ["these figures do not show which NUMA node is nearest to which device"];
  const alike = groupBy(verdicts, ({ sysfsNode, verdict: { best, costs, sysfs } }) =>
    [sysfs, sysfsNode, best, costs.map(({ node }) => node)].join("/"),
  );
  return [...[...alike.values()].map((group) => sentenceOf(group, document)), ...crossedSentences(document)];
}

/** What pageable copies lose if their CPUs are on another node than their memory: the largest loss. */
function crossedSentences(document: ResultDocument): string[] {
  const losses = crossedCosts(document, equalWidth(document));
  const [most] = losses.toSorted((a, b) => b.cost.ratio.median - a.cost.ratio.median);
  if (most === undefined) return [];
  const { cell, cost } = most;
  const [near, far] = [cost.near, cost.far].map(({ median }) => formatGBps(median));
  return [
    `pageable copies of device ${cell.device} reach ${near} GB/s with memory and CPUs of node ${cell.memoryNode} and ${far} with CPUs of node ${cost.node} (${directionName[cell.direction]}, ${cell.together === undefined ? "alone" : "all at once"})`,
  ];
}

function sentenceOf(group: readonly DeviceNodes[], document: ResultDocument): string {
  const [{ verdict, sysfsNode, cellOf }] = group as [DeviceNodes];
  const { best, costs, sysfs } = verdict;
  const isOne = group.length === 1;
  const devices = `${isOne ? "device" : "devices"} ${listed(group.map(({ device }) => String(device)))}`;
  const copy = isOne ? "copies" : "copy";
  if (costs.length === 0) {
    const nodes = nodeList(placedCells(document).map(({ memoryNode }) => memoryNode));
    if (sysfs === "equal")
      return `${devices} ${copy} equally fast with memory of nodes ${nodes}: binding gains nothing`;
    const named = sysfs === "unmeasured" ? `; ${namedElsewhere(sysfsNode!, document)}` : "";
    return `these intervals do not show which of nodes ${nodes} is nearest to ${devices}${named}`;
  }
  const { node, all } = costs.find((cost) => sysfs === "wrong" && cost.node === sysfsNode) ?? costs[0]!;
  const pairsOf = (condition: string) =>
    group.flatMap((one) => {
      const cost = one.verdict.costs.find((each) => each.node === node);
      return cost?.all.find((pair) => pair.condition === condition) ?? [];
    });
  const gainIn = (condition: string) =>
    pairsOf(condition).reduce((sum, { ratio }) => sum + Math.log(ratio.median), 0);
  // The condition with the largest cost over the whole group.
  const { condition } = all.toSorted((a, b) => gainIn(b.condition) - gainIn(a.condition))[0]!;
  const rate = (pick: "near" | "far") => rangeOf(pairsOf(condition).map((pair) => pair[pick].median));
  const says = {
    wrong: ", which sysfs names",
    right: "",
    unknown: "; sysfs names no node",
    unmeasured: sysfs === "unmeasured" ? `; ${namedElsewhere(sysfsNode!, document)}` : "",
    equal: "",
    open: "",
  }[sysfs];
  const confirmed = sysfs === "right" ? (best === sysfsNode ? ", as sysfs says," : "") : "";
  const more =
    costs.length > 1 && sysfs !== "wrong" ? ` (${nodeList(costs.map((cost) => cost.node))} are slower)` : "";
  return `${devices} ${copy} at ${rate("near")} GB/s with memory of node ${best}${confirmed} and ${rate("far")} with node ${node}${says}${more} (${conditionText(cellOf(condition))}): bind ${isOne ? "it" : "them"} to ${best}`;
}

/** "sysfs names node 1, which has no memory": of a node without figures. */
function namedElsewhere(node: number, { numaNodes }: ResultDocument): string {
  const named = numaNodes?.find((one) => one.node === node);
  const why =
    named === undefined
      ? "which is not online"
      : !named.hasMemory
        ? "which has no memory"
        : !named.isAllowed
          ? "whose memory the cpuset of this process does not allow"
          : "which was not measured";
  return `sysfs names node ${node}, ${why}`;
}

/** "0 and 1", or with many "0-127". */
function nodeList(nodes: readonly number[]): string {
  const distinct = ascending(nodes);
  if (distinct.length <= mostListed) return listed(distinct.map(String));
  const runs: [first: number, last: number][] = [];
  for (const node of distinct) {
    const run = runs.at(-1);
    if (run !== undefined && run[1] === node - 1) run[1] = node;
    else runs.push([node, node]);
  }
  return runs.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(",");
}

const mostListed = 4;

function rangeOf(rates: readonly number[]): string {
  const [least, most] = [Math.min(...rates), Math.max(...rates)].map(formatGBps);
  return least === most ? least! : `${least} to ${most}`;
}

function conditionText({ direction, memory, together }: PlacedCell): string {
  return `${directionName[direction]}, ${memory}, ${together === undefined ? "alone" : "all at once"}`;
}

/** What the system did otherwise than asked: pages elsewhere or hidden, and nodes that this process may not use. */
export function nodeNotes(document: ResultDocument): Note[] {
  const { numaNodes } = document;
  const placed = placedCells(document).filter(({ stats }) => stats.length > 0);
  if (numaNodes == null) return [];
  const elsewhere = groupBy(
    placed.filter(isElsewhere),
    ({ memoryNode, pages }) => `${memoryNode} ${pages?.ofNodes?.map(({ node }) => node)}`,
  );
  const hidden = placed.filter((cell) => isElsewhere(cell) === null);
  const barred = numaNodes.filter(({ hasMemory, isAllowed }) => hasMemory && !isAllowed);
  const withoutCpus = groupBy(
    numaNodes.flatMap(({ node, cpus }) => {
      const cell = placed.find((one) => one.memoryNode === node && isLocal(one, placed));
      return cpus.length > 0 || cell === undefined ? [] : [{ node, cpuNode: cell.cpuNode }];
    }),
    ({ cpuNode }) => String(cpuNode),
  );
  const isRefused = placed.some(({ placement }) => placement?.numaNode === null);
  return [
    ...(isRefused
      ? [
          note(
            "the system refuses to choose the node of memory (set_mempolicy; containers need SYS_NICE): it lies with the CPUs that touch it first",
            "warning",
          ),
        ]
      : []),
    ...[...elsewhere.values()].map(([cell]) => {
      const others = (cell!.pages?.ofNodes ?? []).flatMap(({ node }) =>
        node === cell!.memoryNode ? [] : [String(node)],
      );
      return note(
        `memory of node ${cell!.memoryNode} was asked for, and the system gave pages of node ${listed(others)}: node ${cell!.memoryNode} is full or not allowed, and its figures do not count`,
        "warning",
      );
    }),
    ...(placed.length > 0 && hidden.length === placed.length
      ? [note("where the pages lie is not verified: the system hides it (move_pages)", "warning")]
      : []),
    ...(barred.length === 0
      ? []
      : [
          note(
            `left out: memory of node ${nodeList(barred.map(({ node }) => node))}, which the cpuset of this process does not allow`,
          ),
        ]),
    ...[...withoutCpus.values()].map((alike) => {
      const nodes = alike.map(({ node }) => node);
      const [those, have, its] = nodes.length === 1 ? ["node", "has", "its"] : ["nodes", "have", "their"];
      return note(
        `${those} ${nodeList(nodes)} ${have} no CPU that this process may use: ${its} memory was used from CPUs of node ${alike[0]!.cpuNode}`,
      );
    }),
    ...(placed.length > 0 && hidden.length < placed.length && elsewhere.size === 0
      ? [note("the pages of all measured memory lie on the requested nodes", "muted")]
      : []),
  ];
}

/**
 * Commands to paste that bind programs to the nearest nodes; null if no node is nearer than another. Frameworks that choose
 * nodes themselves follow sysfs: where it is wrong, they get the nodes by name.
 */
export function bindingCommands(document: ResultDocument): string | null {
  const verdicts = verdictsOnNodes(document, equalWidth(document));
  const isOpen =
    verdicts.length < document.devices.length || verdicts.some(({ verdict }) => verdict.sysfs === "open");
  if (isOpen || !verdicts.some(({ verdict }) => verdict.costs.length > 0)) return null;
  const placed = placedCells(document);
  const cpuNodeOf = (node: number) =>
    placed.find((cell) => cell.memoryNode === node && isLocal(cell, placed))!.cpuNode;
  const nodes = verdicts.map(({ verdict }) => verdict.best);
  const cpuNodes = nodes.map(cpuNodeOf);
  const count = nodes.length;
  const byNode = [...new Set(nodes)].map((node) => {
    const own = verdicts.flatMap(({ device, verdict }) => (verdict.best === node ? [device] : []));
    const bound = `numactl --cpunodebind=${cpuNodeOf(node)} --membind=${node}`;
    return `CUDA_VISIBLE_DEVICES=${own.map((device) => visibleName(document, device)).join(",")} ${bound} COMMAND`;
  });
  const areOwnCpus = nodes.every((node, i) => node === cpuNodes[i]);
  // torchrun takes the CPUs of sysfs's node, and ends if this process may use none of them.
  const isSysfsRight = verdicts.every(
    ({ verdict: { best, costs }, sysfsNode }) => best === sysfsNode || costs.length === 0,
  );
  const ranks = `c=(${cpuNodes.join(" ")}); m=(${nodes.join(" ")}); i=$LOCAL_RANK`;
  return [
    "# any program, by node",
    ...byNode,
    "# PyTorch",
    isSysfsRight && areOwnCpus
      ? `torchrun --nproc-per-node=${count} --numa-binding=node train.py`
      : `torchrun --nproc-per-node=${count} --no-python bash -c '${ranks}; exec numactl --cpunodebind=\${c[i]} --membind=\${m[i]} python train.py'`,
    ...(areOwnCpus
      ? [
          "# vLLM",
          `vllm serve MODEL --tensor-parallel-size ${count} --numa-bind --numa-bind-nodes ${nodes.join(" ")}`,
        ]
      : []),
    "# Slurm, a task for each GPU",
    `srun --ntasks-per-node=${count} --cpu-bind=map_ldom:${cpuNodes.join(",")} --mem-bind=map_mem:${nodes.join(",")} COMMAND`,
  ].join("\n");
}

/**
 * A device as CUDA_VISIBLE_DEVICES takes it: by its UUID, as numbers are others' where the variable is set already (CUDA C++
 * Programming Guide, "CUDA Environment Variables"). Its number without a UUID.
 */
function visibleName({ devices }: ResultDocument, ordinal: number): string {
  return devices.find((device) => device.ordinal === ordinal)?.uuid ?? String(ordinal);
}
