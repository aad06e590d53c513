import { type Note, note } from "../../draw/report.js";
import {
  crossedCosts,
  type DeviceNodes,
  isElsewhere,
  isLocal,
  placedCells,
  verdictsOnNodes,
} from "../../results/nodes/node-rates.js";
import type { ResultDocument } from "../../results/schema.js";
import { ascending } from "../../stats/order-statistics.js";
import { type Finding, ratioFinding } from "./finding.js";

export function nodeFindings(document: ResultDocument): Finding[] {
  const { numaNodes } = document;
  if (numaNodes == null) return [];
  if (placedCells(document).length === 0) {
    return [{ ...blankFinding, subject: "NUMA", value: "one node only, nothing to compare" }];
  }
  return [
    ...verdictsOnNodes(document).map(({ device, verdict, sysfsNode }) =>
      nodeFinding(device, verdict, sysfsNode),
    ),
    ...crossedFindings(document),
  ];
}

const blankFinding = { figure: "", interval: "", against: "", verdict: "", hint: "" } as const;

function nodeFinding(
  device: number,
  { best, costs }: DeviceNodes["verdict"],
  sysfsNode: number | null,
): Finding {
  const subject = `d${device} memory`;
  const cost = costs.find(({ node }) => node === sysfsNode) ?? costs[0];
  if (cost === undefined) return { ...blankFinding, subject, value: "no node is faster for certain" };
  const sysfs = sysfsNode === null || sysfsNode === best ? "" : ` (sysfs names ${sysfsNode})`;
  return {
    ...ratioFinding(
      { subject: `${subject} of node ${best}`, figure: "rate", against: `node ${cost.node}` },
      [cost.near, cost.far],
      cost.order,
    ),
    hint: `Bind to node ${best}${sysfs}.`,
  };
}

function crossedFindings(document: ResultDocument): Finding[] {
  const [most] = crossedCosts(document).toSorted((a, b) => b.cost.ratio.median - a.cost.ratio.median);
  if (most === undefined) return [];
  const { cell, cost } = most;
  const subject = `d${cell.device} pageable by CPUs of node ${cost.node}`;
  const against = `CPUs of node ${cell.memoryNode}`;
  return [ratioFinding({ subject, figure: "rate", against }, [cost.far, cost.near], "below")];
}

/** Why figures of nodes may be wrong: memory that the system put on another node, or whose node it does not report. */
export function nodeNotes(document: ResultDocument): Note[] {
  const placed = placedCells(document).filter(({ stats }) => stats.length > 0);
  const elsewhere = ascending(placed.filter(isElsewhere).map(({ memoryNode }) => memoryNode));
  const isHidden = placed.length > 0 && placed.every((cell) => isElsewhere(cell) === null);
  const texts = [
    ...(placed.some(({ placement }) => placement?.numaNode === null)
      ? ["the system refuses to choose the node of memory (set_mempolicy; containers need SYS_NICE)"]
      : []),
    ...[...new Set(elsewhere)].map(
      (node) =>
        `memory of node ${node} lies elsewhere: the node is full or not allowed, and its figures do not count`,
    ),
    ...(isHidden ? ["the system does not show on which node pages lie (move_pages)"] : []),
  ];
  return texts.map((text) => note(text, "warning"));
}

/**
 * Commands that bind programs to the nearest nodes; null if no node is nearer than another. Frameworks that choose
 * nodes themselves follow sysfs: if sysfs is wrong, the commands name the nodes.
 */
export function bindingCommands(document: ResultDocument): string | null {
  const verdicts = verdictsOnNodes(document);
  const isOpen = verdicts.length < document.devices.length || verdicts.some(({ verdict }) => verdict.isOpen);
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
  // torchrun takes the CPUs of sysfs's node, and exits if this process may use none of them.
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
 * A device as CUDA_VISIBLE_DEVICES takes it: by UUID, because numbers change meaning if the variable is set already
 * (CUDA C++ Programming Guide, "CUDA Environment Variables"). Without a UUID, its number.
 */
function visibleName({ devices }: ResultDocument, ordinal: number): string {
  return devices.find((device) => device.ordinal === ordinal)?.uuid ?? String(ordinal);
}
