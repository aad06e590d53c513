import { median } from "../stats/order-statistics.js";
import { type HealthyRates, healthyRate, healthyRates, type ReferenceOf } from "./absolute-rule.js";
import { type FleetThresholds, usualThresholds } from "./copy-series.js";
import type {
  FleetAction,
  FleetDocument,
  FleetGroup,
  FleetGroupCell,
  FleetNode,
  FleetOutlier,
} from "./fleet-document.js";
import { lossText, partText, someOf } from "./fleet-wording.js";
import { incompleteness } from "./incomplete-nodes.js";
import { type GroupJudgement, judgeGroup, type SlowInGroup, slowSince } from "./judge-group.js";
import { type DeviceFigures, kindOf, linkText, type NodeFigures, type NodeGroup } from "./node-figures.js";
import { groupNodes, separating, trainedDown } from "./node-groups.js";
import { type GpuScore, type SeriesJudgement, speedOf } from "./relative-rule.js";

export interface FleetRule {
  /** Smallest relative loss to report, for all copies: 0.05 is 5 %; null for the defaults by kind. */
  threshold: number | null;
}

export interface FleetRequest {
  version: string;
  createdAt: string;
  nodes: readonly NodeFigures[];
  /** Figures of fresh processes on nodes that looked slow. */
  fresh: readonly NodeFigures[];
  rule: FleetRule;
  notes: readonly string[];
  /** Rates of healthy machines; null if unknown. */
  referenceOf: ReferenceOf | null;
}

const hasFigures = ({ figures }: DeviceFigures) => figures.size > 0;
const isJudged = ({ devices }: NodeFigures) => devices.some(hasFigures);

export function judgeFleet(request: FleetRequest): FleetDocument {
  const { version, createdAt, rule } = request;
  const thresholds: FleetThresholds =
    rule.threshold === null ? usualThresholds : { pinned: rule.threshold, copiesByCpu: rule.threshold };
  const { nodes } = request;
  const groups = groupNodes(nodes.filter(isJudged));
  const groupOf = new Map(groups.flatMap(({ nodes }, group) => nodes.map((node) => [node, group] as const)));
  const fresh = new Map(request.fresh.map((node) => [node.host, node]));
  const judged = groups.map((group, index) => {
    const rates = healthyRates(group, request.referenceOf);
    const freshOf = (node: number) => fresh.get(group.nodes[node]!.host) ?? null;
    const judgement = judgeGroup(group, thresholds, rates, freshOf);
    return {
      group: describeGroup(group, judgement, rates),
      slow: judgement.slow.map((one) => outlierOf(one, group, index)),
      compared: [...judgement.compared].map((node) => group.nodes[node]!),
      suspects: judgement.suspects.map((node) => group.nodes[node]!.host),
    };
  });
  const slow = judged
    .flatMap((one) => one.slow)
    .sort((a, b) => a.cells[0]!.change - b.cells[0]!.change || (a.host < b.host ? -1 : 1));
  const outliers = slow.filter(({ confirmed }) => confirmed !== false);
  const compared = new Set(judged.flatMap((one) => one.compared));
  return {
    schemaVersion: 1,
    kind: "fleet",
    tool: { name: "pinbench", version },
    createdAt,
    notice: nodes.find(({ notice }) => notice !== null)?.notice ?? null,
    rule: { ...thresholds },
    nodes: nodes.map((node) => {
      const index = groupOf.get(node) ?? null;
      const fault = index === null ? null : incompleteness(node, groups[index]!);
      return {
        ...nodeOf(node, index),
        compared: compared.has(node),
        ...(fault !== null && { state: "incomplete", reason: fault, action: "reset" }),
        ...wrongAgain(fresh.get(node.host)),
      };
    }),
    groups: judged.map(({ group }) => group),
    notes: [...sharedTraits(nodes.filter(isJudged), outliers), ...request.notes],
    outliers,
    cleared: slow.filter(({ confirmed }) => confirmed === false),
    suspects: [...new Set(judged.flatMap(({ suspects }) => suspects))],
  };
}

/** A node with wrong data in the fresh process is not healthy, whatever the first process found. */
function wrongAgain(fresh: NodeFigures | undefined): Partial<Pick<FleetNode, "state" | "reason" | "action">> {
  if (fresh?.state !== "wrong data") return {};
  return {
    state: fresh.state,
    action: actionOnNode(fresh.state),
    reason: `${fresh.reason}, when it was measured again`,
  };
}

/** Facts that all slow nodes share and no other node has: no proof, but the place to look first. */
function sharedTraits(nodes: readonly NodeFigures[], outliers: readonly FleetOutlier[]): string[] {
  const hosts = new Set(outliers.map(({ host }) => host));
  const [slow, others] = [true, false].map((isSlow) =>
    nodes.filter(({ host }) => hosts.has(host) === isSlow),
  );
  const traits = separating(slow!, others!);
  if (traits.length === 0) return [];
  return [
    `Only the ${hosts.size === 1 ? "slow node has" : `${hosts.size} slow nodes have`} ${someOf(traits)}.`,
  ];
}

function nodeOf(node: NodeFigures, group: number | null): Omit<FleetNode, "compared"> {
  const { host, state, reason, file, runId, startedAt, wallNs, labels, devices, notes } = node;
  return {
    ...{ host, state, reason, action: actionOnNode(state), file, runId, startedAt, wallNs, group },
    labels: { ...labels },
    devices: devices.map(({ ordinal, name, uuid, pciBusId, link }) => {
      return { ordinal, name, uuid, pciBusId, link: linkText(link) };
    }),
    notes: [...notes],
  };
}

function describeGroup(
  { nodes, facts, notes }: NodeGroup,
  { series, slow, parted }: GroupJudgement,
  rates: HealthyRates,
): FleetGroup {
  const keys = new Set(series.flatMap((one) => one.series.keys));
  return {
    facts,
    nodes: nodes.length,
    devices: nodes.reduce((sum, { devices }) => sum + devices.filter(hasFigures).length, 0),
    cells: [...keys].map((key) => cellOf(key, nodes, rates)),
    slowPart: parted === null || isSlowPartKnown(parted, slow) ? null : slowPartOf(parted, nodes),
    bounds: series.map(({ series: { name, kind }, bounds, reference }) => ({
      ...{ copies: name, kind },
      node: lossOf(bounds.node),
      gpu: lossOf(bounds.gpu),
      reference: lossOf(reference),
    })),
    notes: [...notes, ...slotNotes(series, nodes)],
  };
}

/** The relative loss for a drop of a logarithm. */
function lossOf(drop: number | null): number | null {
  return drop === null ? null : -Math.expm1(-drop);
}

function cellOf(key: string, nodes: readonly NodeFigures[], rates: HealthyRates): FleetGroupCell {
  const values = nodes.flatMap(({ devices }) => devices.map(({ figures }) => figures.get(key) ?? null));
  const known = values.filter((value) => value !== null);
  const middle = median(known);
  const model = nodes.flatMap(({ devices }) => devices).find(({ figures }) => figures.has(key))!.name;
  const rate = healthyRate(rates, model, key);
  return {
    ...kindOf(key),
    values,
    figures: known.length,
    median: middle,
    lowest: known.reduce((a, b) => Math.min(a, b)),
    highest: known.reduce((a, b) => Math.max(a, b)),
    shareOfReference: rate === null ? null : middle / rate,
  };
}

/** Whether all nodes of the slower part are slow by the reference, so that it is certain which part is slow. */
function isSlowPartKnown({ part }: SeriesJudgement, slow: GroupJudgement["slow"]): boolean {
  const found = slow.filter(
    ({ confirmed, series }) => confirmed !== false && series[0]!.against === "reference",
  );
  return part!.nodes.every((node) => found.some((one) => one.node === node));
}

function slowPartOf(
  { series, part }: SeriesJudgement,
  nodes: readonly NodeFigures[],
): FleetGroup["slowPart"] {
  const [slow, others] = [part!.nodes, part!.others].map((ones) => ones.map((node) => nodes[node]!)) as [
    NodeFigures[],
    NodeFigures[],
  ];
  const hosts = slow.map(({ host }) => host).sort();
  const change = Math.expm1(-part!.drop);
  const reason = partText({ hosts, change, copies: series.name }, others.length, separating(slow, others));
  return { hosts, change, reason, action: "monitor" };
}

function slotNotes(series: GroupJudgement["series"], nodes: readonly NodeFigures[]): string[] {
  const worst = new Map<string, { drop: number; copies: string }>();
  for (const { slots, series: one } of series) {
    for (const { slot, drop } of slots)
      if (drop > (worst.get(slot)?.drop ?? 0)) worst.set(slot, { drop, copies: one.name });
  }
  return [...worst].map(
    ([slot, { drop, copies }]) =>
      `${slot.startsWith("GPU ") ? slot : `The GPU at ${slot}`} is ${lossText(lossOf(drop)!)} slower than others in ${copies} on nearly all ${nodes.length} nodes, by design or by a fault of all: it is compared with its like.`,
  );
}

function outlierOf(
  { node: index, device, series, confirmed }: SlowInGroup,
  group: NodeGroup,
  groupIndex: number,
): FleetOutlier {
  const node = group.nodes[index]!;
  const gpu = device === null ? null : node.devices[device]!;
  const cells = series.flatMap(({ gpus }) => slowCells(node, gpus)).sort((a, b) => a.change - b.change);
  const links = trainedDown(node, device);
  const one = {
    host: node.host,
    group: groupIndex,
    device: gpu?.ordinal ?? null,
    uuid: gpu?.uuid ?? null,
    against: series[0]!.against,
    cells,
    confirmed,
  };
  return {
    ...one,
    since: confirmed === false ? null : slowSince(node, { node: index, device, series, confirmed }),
    action: actionOnOutlier(one, links.length > 0),
    evidence: links,
  };
}

/** The cells in which these GPUs are slower, by the median over the GPUs; at least one cell. */
function slowCells(node: NodeFigures, gpus: readonly GpuScore[]): FleetOutlier["cells"] {
  const keys = [...new Set(gpus.flatMap(({ cells }) => cells.map(({ key }) => key)))];
  const all = keys.flatMap((key) => {
    const kind = kindOf(key);
    const ofCell = gpus.flatMap(({ device, cells, offset }) => {
      const figure = node.devices[device]!.figures.get(key);
      const cell = cells.find((one) => one.key === key);
      if (figure === undefined || cell === undefined) return [];
      return [{ speed: speedOf(figure, key), level: cell.level + offset }];
    });
    if (ofCell.length === 0) return [];
    const [speed, level] = [median(ofCell.map((one) => one.speed)), median(ofCell.map((one) => one.level))];
    const figureOf = (log: number) => Math.exp(kind.unit === "us" ? -log : log);
    return [
      { ...kind, figure: figureOf(speed), expected: figureOf(level), change: Math.expm1(speed - level) },
    ];
  });
  const slower = all.filter(({ change }) => change < 0);
  // If each GPU is slow in different cells, no cell's median may be slow.
  return slower.length > 0 ? slower : all.sort((a, b) => a.change - b.change).slice(0, 1);
}

/** From this loss on, jobs should avoid a node. */
const isolatedFrom = 0.1;

/** The action for a slow GPU or node: resetting restores a link that has trained down. */
function actionOnOutlier(
  { cells, confirmed }: Pick<FleetOutlier, "cells" | "confirmed">,
  isTrainedDown: boolean,
): FleetAction {
  if (confirmed === false) return "none";
  if (isTrainedDown) return "reset";
  return -cells[0]!.change >= isolatedFrom ? "isolate" : "monitor";
}

export function actionOnNode(state: FleetNode["state"]): FleetAction {
  if (state === "wrong data" || state === "failed") return "isolate";
  if (state === "measured") return "none";
  return state === "unreadable" || state === "missing" ? "monitor" : "reset";
}
