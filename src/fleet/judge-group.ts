import { groupBy } from "../stats/group-by.js";
import { median } from "../stats/order-statistics.js";
import { belowReference, type HealthyRates } from "./absolute-rule.js";
import { copySeries, type FleetThresholds } from "./copy-series.js";
import type { FleetOutlier } from "./fleet-document.js";
import type { NodeFigures, NodeGroup } from "./node-figures.js";
import {
  type GpuScore,
  judgeSeries,
  type SeriesJudgement,
  type SlowOne,
  type SlowPart,
  scoreIn,
  scoreOfNode,
} from "./relative-rule.js";

/** A series in which a node or a GPU (null: the whole node) is slow, by one rule. */
interface SlowSeries extends SlowOne {
  against: FleetOutlier["against"];
  /** Its GPUs, with the levels they are compared with. */
  gpus: readonly GpuScore[];
}

export interface SlowInGroup {
  node: number;
  device: number | null;
  series: readonly SlowSeries[];
  /** Whether fresh processes found it slow too; null if none measured it. */
  confirmed: boolean | null;
}

export interface GroupJudgement {
  series: readonly (SeriesJudgement & { reference: number | null })[];
  slow: readonly SlowInGroup[];
  /** The series that splits the nodes most clearly in two, unless fresh processes closed the gap. */
  parted: SeriesJudgement | null;
  /** Nodes that could be compared with the reference or other nodes, and those with a slow GPU. */
  compared: ReadonlySet<number>;
  /**
   * Nodes to measure again: slow ones and those of smaller parts (of both if equal), as one slow process may cause
   * either.
   */
  suspects: readonly number[];
}

/**
 * Judges a group by both rules. In each series a node or GPU is reported once: by the reference if both find
 * it. A GPU is left out if the other rule finds its node. `freshOf()`: figures of a fresh process, or null.
 */
export function judgeGroup(
  group: NodeGroup,
  thresholds: FleetThresholds,
  rates: HealthyRates,
  freshOf: (node: number) => NodeFigures | null,
): GroupJudgement {
  const { nodes } = group;
  const keys = new Set<string>();
  for (const { devices } of nodes)
    for (const { figures } of devices) for (const key of figures.keys()) keys.add(key);
  const judgeAll = (parted: SlowPart | null) =>
    copySeries(keys).map((one) => judgeSeries(nodes, one, thresholds, parted));
  const whole = judgeAll(null);
  const [parted = null] = whole
    .filter((one) => one.part !== null && isPartAgain(one, nodes, freshOf))
    .sort((a, b) => b.part!.drop / b.part!.bound - a.part!.drop / a.part!.bound);
  const found: SlowSeries[] = [];
  const compared = new Set<number>();
  // The parts of this series hold for all series. In those with a smaller gap, all slower nodes would be blamed.
  const series = (parted === null ? whole : judgeAll(parted.part)).map((relative) => {
    const absolute = belowReference(group, relative.series.keys, rates);
    for (const { node } of [...absolute.gpus, ...(relative.bounds.node === null ? [] : relative.gpus)])
      compared.add(node);
    const ofNodes = (slow: readonly SlowOne[]) =>
      new Set(slow.flatMap(({ node, device }) => (device === null ? [node] : [])));
    const [byReference, byGroup] = [ofNodes(absolute.slow), ofNodes(relative.slow)];
    const below = absolute.slow.filter(({ node }) => byReference.has(node) || !byGroup.has(node));
    const known = new Set(below.map(subjectOf));
    const slower = relative.slow.filter((slow) => !byReference.has(slow.node) && !known.has(subjectOf(slow)));
    found.push(...withGpus(below, absolute.gpus, "reference"), ...withGpus(slower, relative.gpus, "group"));
    return { ...relative, reference: absolute.bound };
  });
  const slow = [...groupBy(found, subjectOf).values()].map((ofOne) => {
    const all = ofOne.toSorted((a, b) => b.drop - a.drop);
    const { node, device } = all[0]!;
    const fresh = freshOf(node);
    return { node, device, series: all, confirmed: fresh && isSlowIn(fresh, nodes[node]!, all) };
  });
  const doubtful = series.flatMap(({ part }) => {
    if (part === null) return [];
    const both = [part.nodes, part.others];
    return both.filter(({ length }) => 2 * length <= both.flat().length).flat();
  });
  for (const { node, confirmed } of slow) if (confirmed !== false) compared.add(node);
  const suspects = [...slow.map(({ node }) => node), ...doubtful];
  return { series, slow, parted, compared, suspects };
}

const subjectOf = ({ node, device }: SlowOne) => `${node} ${device}`;

function withGpus(
  slow: readonly SlowOne[],
  gpus: readonly GpuScore[],
  against: SlowSeries["against"],
): SlowSeries[] {
  if (slow.length === 0) return [];
  const ofNodes = groupBy(gpus, ({ node }) => String(node));
  return slow.map((one) => {
    const own = ofNodes.get(String(one.node))!.filter(({ device }) => (one.device ?? device) === device);
    return { ...one, against, gpus: own };
  });
}

/** Whether another result of the node is slow by the same rule, in any of these series; null without such figures. */
function isSlowIn(other: NodeFigures, node: NodeFigures, series: readonly SlowSeries[]): boolean | null {
  const drops = series.flatMap(({ gpus, bound }) => {
    const drop = dropIn(other, node, gpus);
    return drop === null ? [] : [drop > bound];
  });
  return drops.length === 0 ? null : drops.includes(true);
}

/** How far these GPUs are below their levels in another result of the node; null without figures. */
function dropIn(other: NodeFigures, node: NodeFigures, gpus: readonly GpuScore[]): number | null {
  const scores = gpus.flatMap((gpu) => {
    const { uuid, ordinal } = node.devices[gpu.device]!;
    const same = other.devices.find((one) => (uuid === null ? one.ordinal === ordinal : one.uuid === uuid));
    return (same && scoreIn(same, gpu)?.score) ?? [];
  });
  return scores.length === 0 ? null : -scoreOfNode(scores);
}

/** Whether the parts are still apart with the figures of fresh processes. */
function isPartAgain(
  { part, gpus }: SeriesJudgement,
  nodes: readonly NodeFigures[],
  freshOf: (node: number) => NodeFigures | null,
): boolean {
  // Levels are those of each part, so a drop of 0 is as slow as before.
  const dropOf = (ones: readonly number[]) => {
    const drops = ones.flatMap((node) => {
      const fresh = freshOf(node);
      if (fresh === null) return [];
      const own = gpus.filter((gpu) => gpu.node === node);
      return dropIn(fresh, nodes[node]!, own) ?? [];
    });
    return drops.length === 0 ? 0 : median(drops);
  };
  return part!.drop + dropOf(part!.nodes) - dropOf(part!.others) > part!.bound;
}

/** When it became slow, by the node's older results; null if none has the figures. */
export function slowSince(node: NodeFigures, { series }: SlowInGroup): FleetOutlier["since"] {
  let startedAt = node.startedAt!;
  let since: FleetOutlier["since"] = null;
  for (const earlier of node.earlier ?? []) {
    const wasSlow = isSlowIn(earlier, node, series.slice(0, 1));
    if (wasSlow === false) return { startedAt, lastHealthy: earlier.startedAt };
    if (wasSlow === null) continue;
    startedAt = earlier.startedAt!;
    since = { startedAt, lastHealthy: null };
  }
  return since;
}
