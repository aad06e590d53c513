import { median } from "../stats/order-statistics.js";
import { type CellLevels, fewNodes, figureOf } from "./cell-levels.js";
import { kindName } from "./cells-together.js";
import { confirm, isPartAgain, slowSince } from "./confirm-outliers.js";
import { doubtsOn } from "./doubtful-results.js";
import { farInEachCell, farLoss, farRule } from "./far-below.js";
import { deviationOf, leastLossFound } from "./figure-noise.js";
import type {
  FleetAction,
  FleetDocument,
  FleetGroup,
  FleetGroupCell,
  FleetNode,
  FleetOutlier,
} from "./fleet-document.js";
import * as wording from "./fleet-wording.js";
import { misreadLink, withoutImpossible } from "./impossible-figures.js";
import { incompleteness } from "./incomplete-nodes.js";
import {
  type FleetRule,
  type GroupJudgement,
  groupSignificance,
  judgeGroup,
  testsOf,
} from "./judge-group.js";
import {
  type DeviceFigures,
  groupNodes,
  keyOf,
  linkText,
  type NodeFigures,
  type NodeGroup,
} from "./node-figures.js";
import { evidenceOf, isTrainedDown } from "./outlier-evidence.js";
import {
  type GroupReference,
  groupReference,
  outdatedReference,
  type ReferenceOf,
  referenceOfCell,
  slowAsAWhole,
} from "./reference-share.js";
import type { SlowOne } from "./slow-ones.js";
import { sharedTraits, slowerThanAlike, slowPlaces } from "./slow-places.js";

/** The input of a judgement. */
export interface FleetRequest {
  /** Version of pinbench. */
  version: string;
  /** ISO 8601. */
  createdAt: string;
  /** One for each host. */
  nodes: readonly NodeFigures[];
  /** Figures of fresh processes on nodes that looked slow; empty without any. */
  fresh: readonly NodeFigures[];
  rule: FleetRule;
  /** Further sentences on results that may mislead. */
  doubts?: readonly string[];
  /** The rates of healthy machines; null if none are known. */
  referenceOf: ReferenceOf | null;
}

const hasFigures = ({ figures }: DeviceFigures) => figures.size > 0;

/** Finds the nodes and GPUs that are slower than those like them. */
export function judgeFleet(request: FleetRequest): FleetDocument {
  const { version, createdAt, rule } = request;
  const isJudged = ({ devices }: NodeFigures) => devices.some(hasFigures);
  const replaced = new Map(
    groupNodes(request.nodes.filter(isJudged)).flatMap((group) => {
      const possible = withoutImpossible(group);
      return group.nodes.map((node, i) => [node, possible[i]!] as const);
    }),
  );
  const nodes = request.nodes.map((node) => replaced.get(node) ?? node);
  const groups = groupNodes(nodes.filter(isJudged));
  const groupOf = new Map(groups.flatMap(({ nodes }, group) => nodes.map((node) => [node, group] as const)));
  const fresh = new Map(request.fresh.map((node) => [node.host, node]));
  const references = groups.map((group) => groupReference(group, request.referenceOf));
  const judgements = groups.map(({ nodes, facts }, index) => ({
    facts,
    ...judgeGroup(nodes, rule, references[index]!.knownOf),
  }));
  const judged = groups.map((group, index) => {
    const [reference, judgement] = [references[index]!, judgements[index]!];
    const slower = slowerThanAlike(judgement, judgements);
    const freshOf = (node: number) => fresh.get(group.nodes[node]!.host) ?? null;
    const { outliers, cleared, unclear } = confirm(group.nodes, judgement, freshOf, rule);
    const told = (one: SlowOne, confirmed: boolean | null) => outlierOf(one, confirmed, group, index);
    const inOrder = nodes.filter((node) => groupOf.get(node) === index);
    const described = describeGroup(
      { ...group, notes: slower === null ? group.notes : [...group.notes, slower] },
      inOrder,
      { ...judgement, outliers },
      reference,
      freshOf,
    );
    // A large part is no process that was far off.
    const part = described.slowPart?.hosts ?? [];
    return {
      group: described,
      outliers: outliers.map((one) => told(one, one.confirmed)),
      cleared: cleared.map((one) => told(one, false)),
      // The first of a node is the one with its largest loss.
      unclear: unclear
        .map((one) => [group.nodes[one.node]!.host, wording.unclearLoss(one, group.nodes)] as const)
        .reverse(),
      unclearText: wording.unclear(unclear, group.nodes),
      suspects: [
        ...judgement.suspects.map(({ node }) => group.nodes[node]!.host),
        ...(part.length <= fewNodes ? part : []),
      ],
    };
  });
  const slowestFirst = (a: FleetOutlier, b: FleetOutlier) => a.cells[0]!.change - b.cells[0]!.change;
  const outliers = judged.flatMap((one) => one.outliers).sort(slowestFirst);
  const cleared = judged.flatMap((one) => one.cleared).sort(slowestFirst);
  const mostGpusOf = groups.map(({ nodes }) =>
    nodes.reduce((most, { facts }) => Math.max(most, Number(facts.gpuCount ?? 0)), 0),
  );
  const unclear = new Map(judged.flatMap((one) => one.unclear));
  const toMeasure = [...outliers, ...cleared].map(({ host }) => host);
  return {
    schemaVersion: 1,
    kind: "fleet",
    tool: { name: "pinbench", version },
    createdAt,
    notice: nodes.find(({ notice }) => notice !== null)?.notice ?? null,
    rule: { significance: groupSignificance, threshold: rule.threshold },
    nodes: nodes.map((node) => {
      const index = groupOf.get(node) ?? null;
      const fault = incompleteness(node, index === null ? null : groups[index]!);
      const mostGpus = fault !== null || index === null ? 0 : mostGpusOf[index]!;
      const lacking = index === null ? [] : lackingOf(node, judged[index]!.group, mostGpus);
      return {
        ...nodeOf(node, index, lacking),
        ...(node.state === "measured" &&
          unclear.has(node.host) && { action: "monitor", reason: unclear.get(node.host)! }),
        ...(fault !== null && { state: "incomplete", ...fault }),
        ...wrongAgain(fresh.get(node.host)),
      };
    }),
    groups: judged.map(({ group }) => group),
    shared: sharedTraits(nodes, outliers),
    doubts: [
      ...judged.flatMap(({ unclearText }) => unclearText),
      ...(request.doubts ?? []),
      ...doubtsOn(nodes, createdAt),
      ...groups.flatMap((group, index) => {
        const misread = misreadLink(group);
        if (misread.length > 0) return misread;
        return outdatedReference(group, judgements[index]!.levels, references[index]!);
      }),
    ],
    outliers,
    cleared,
    suspects: [...new Set([...toMeasure, ...judged.flatMap(({ suspects }) => suspects)])],
  };
}

/** A node whose fresh process copied wrong data is not healthy, whatever its first process did. */
function wrongAgain(fresh: NodeFigures | undefined): Partial<Pick<FleetNode, "state" | "reason" | "action">> {
  if (fresh?.state !== "wrong data") return {};
  return {
    state: fresh.state,
    action: actionOnNode(fresh.state),
    reason: `${fresh.reason}, when it was measured again`,
  };
}

/** Figures that the node lacks and most of its group have; and GPUs, of which a node of the group has `mostGpus`. */
function lackingOf(node: NodeFigures, { nodes, cells }: FleetGroup, mostGpus: number): string[] {
  const most = Math.max(...cells.map(({ figures }) => figures));
  const usual = nodes === 1 ? [] : cells.filter(({ figures }) => 2 * figures > most);
  return wording.lacking(node, usual, mostGpus);
}

function nodeOf(node: NodeFigures, group: number | null, lacking: readonly string[]): FleetNode {
  const { host, state, reason, file, runId, startedAt, wallNs, labels, devices, notes } = node;
  return {
    ...{ host, state, reason, action: actionOnNode(state), file, runId, startedAt, wallNs, group },
    labels: { ...labels },
    devices: devices.map(({ ordinal, name, uuid, pciBusId, link }) => {
      return { ordinal, name, uuid, pciBusId, link: linkText(link) };
    }),
    notes: [...notes, ...lacking],
  };
}

/** `inOrder`: the group's nodes in the document's order. */
function describeGroup(
  group: NodeGroup,
  inOrder: readonly NodeFigures[],
  judgement: GroupJudgement,
  reference: GroupReference,
  freshOf: (node: number) => NodeFigures | null,
): FleetGroup {
  const { nodes } = group;
  const { levels } = judgement;
  const cells = levels.map((one) => {
    const key = keyOf(one.kind);
    const values = inOrder.flatMap(({ devices }) => devices.map(({ figures }) => figures.get(key) ?? null));
    return { ...cellOf(one, judgement, reference), values };
  });
  const found = lossesFound(judgement);
  const named = new Set(judgement.outliers.map(({ node }) => node));
  const places = slowPlaces(nodes, judgement, reference);
  const divided = levels.filter((one) => hasSlowPart(one, reference) && isShownTwice(one, levels));
  const again = divided.filter((one) => isPartAgain(one, nodes, freshOf));
  const [widest] = again.sort((a, b) => gapOf(b) - gapOf(a));
  const isCleared = divided.length > 0 && widest === undefined;
  return {
    facts: group.facts,
    nodes: nodes.length,
    devices: nodes.reduce((sum, { devices }) => sum + devices.filter(hasFigures).length, 0),
    cells,
    slowPart: widest === undefined ? null : wording.slowPart(widest, nodes, named),
    slowAsAWhole: slowAsAWhole(
      cells.map((cell, i) => ({ cell, levels: levels[i]! })),
      reference,
    ),
    // A reference judges any number of nodes.
    tooFew: judgement.known.length > 0 ? null : wording.tooFew(nodes, cells, found),
    found,
    slowPlaces: places.slowPlaces,
    notes: [...group.notes, ...places.notes, ...(isCleared ? [wording.clearedPart] : [])],
  };
}

/**
 * Whether a cell has a slow part: not if the median of its slower nodes matches the reference, and the others are above
 * it.
 */
function hasSlowPart({ parts, gpus, key }: CellLevels, { knownOf }: GroupReference): boolean {
  if (parts === null) return false;
  const slow = new Set(parts.slow);
  const above = { slow: [] as number[], fast: [] as number[] };
  for (const { node, device, centre, drop } of gpus) {
    const known = knownOf(node, device, key);
    if (known === null) return true;
    above[slow.has(node) ? "slow" : "fast"].push((centre - drop - known.speed) / known.tolerated);
  }
  return median(above.slow) < -1 || median(above.fast) <= 1;
}

/**
 * Whether more than one figure shows the parts: a part of one node, or parts of three nodes, may be one process that was far off. Then
 * another cell of that kind of memory must show the same slow nodes, if there is one.
 */
function isShownTwice(one: CellLevels, levels: readonly CellLevels[]): boolean {
  const slowOf = ({ parts }: CellLevels) => [...(parts?.slow ?? [])].sort((a, b) => a - b).join();
  if (one.gpus.length > one.nodes.length) return true;
  if (one.nodes.length > fewNodes && Math.min(one.parts!.slow.length, one.parts!.fast.length) > 1)
    return true;
  const others = levels.filter((other) => other !== one && kindName(other) === kindName(one));
  return others.length === 0 || others.some((other) => slowOf(other) === slowOf(one));
}

/** How clearly two parts are apart: in standard deviations. */
function gapOf({ parts, gpuNoise }: CellLevels): number {
  return parts === null ? 0 : (parts.fastCentre - parts.slowCentre) / deviationOf(gpuNoise);
}

function cellOf(
  levels: CellLevels,
  judgement: GroupJudgement,
  reference: GroupReference,
): Omit<FleetGroupCell, "values"> {
  const speeds = levels.gpus.map(({ centre, drop }) => centre - drop);
  const ends = [Math.min, Math.max].map((end) =>
    figureOf(
      levels,
      speeds.reduce((a, b) => end(a, b)),
    ),
  );
  const centre = figureOf(levels, levels.centre);
  const known = referenceOfCell(levels, reference);
  return {
    ...levels.kind,
    figures: levels.gpus.length,
    centre,
    lowest: Math.min(...ends),
    highest: Math.max(...ends),
    logDeviation: deviationOf(levels.gpuNoise),
    leastLoss: lossFound(levels, judgement),
    shareOfReference: known === null ? null : centre / known.rate,
  };
}

function outlierOf(one: SlowOne, confirmed: boolean | null, group: NodeGroup, index: number): FleetOutlier {
  const node = group.nodes[one.node]!;
  const device = one.device === null ? null : node.devices[one.device]!;
  const cells = one.cells.map(({ levels, centre, drop, adjustedPValue }) => ({
    ...levels.kind,
    figure: figureOf(levels, centre - drop),
    centre: figureOf(levels, centre),
    change: Math.expm1(-drop),
    adjustedPValue,
  }));
  const together = togetherOf(one);
  return {
    host: node.host,
    group: index,
    device: device?.ordinal ?? null,
    uuid: device?.uuid ?? null,
    cells,
    together,
    since: confirmed === false ? null : slowSince(node, one),
    confirmed,
    reason: wording.outlier(node, device, cells, together),
    action: actionOnOutlier({ cells, confirmed, isTrainedDown: isTrainedDown(node, device) }),
    evidence: evidenceOf(node, device, group),
  };
}

/** The smallest loss of a GPU that is found in a cell; null if none is. */
function lossFound(levels: CellLevels, { levelOf, known }: GroupJudgement): number | null {
  if (testsOf(levels) === 0) return null;
  return smallest([
    leastLossFound(levels.gpuNoise, levelOf(levels), -Math.expm1(-levels.namedFrom)),
    levels.against === "like" && levels.members.length === 0 ? farLoss(levels, farRule(levels), known) : null,
  ]);
}

function smallest(losses: readonly (number | null)[]): number | null {
  const known = losses.filter((loss) => loss !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/** A statement on any cell must be true for the noisiest one. */
function largest(losses: readonly (number | null)[]): number | null {
  return losses.length === 0 || losses.includes(null) ? null : Math.max(...(losses as number[]));
}

/** The smallest losses that are found, by kind of memory. */
function lossesFound(judgement: GroupJudgement): FleetGroup["found"] {
  const { levels, together, known } = judgement;
  const foundIn = (ones: readonly CellLevels[]) => largest(ones.map((one) => lossFound(one, judgement)));
  return [...new Set(levels.map(kindName))].map((memory) => {
    const ofKind = (ones: readonly CellLevels[]) => ones.filter((one) => kindName(one) === memory);
    const cells = ofKind(levels);
    const inOneCell = foundIn(cells);
    const inEach =
      memory === "pinned" && cells.length > 1
        ? largest(cells.map((one) => farLoss(one, farInEachCell, known)))
        : null;
    return {
      memory,
      cells: cells.length,
      inOneCell,
      inAllCells: smallest([foundIn(ofKind(together)), (inEach ?? 1) < (inOneCell ?? 1) ? inEach : null]),
      belowReference: foundIn(ofKind(known)),
    };
  });
}

/** The combined cells of the kind with the largest loss, if no single cell shows it. */
function togetherOf({ cells }: SlowOne): FleetOutlier["together"] {
  if (cells.some(({ together }) => together === null)) return null;
  const [most] = cells.flatMap(({ together }) => together ?? []).sort((a, b) => b.drop - a.drop);
  if (most === undefined) return null;
  const { levels, drop } = most;
  return { memory: kindName(levels), cells: levels.members.length, change: Math.expm1(-drop) };
}

/** From this loss on, jobs should avoid the node. */
const isolatedFrom = 0.1;

/** The action for a slow GPU or node: a link that has trained down recovers by a reset. */
export function actionOnOutlier({
  cells,
  confirmed,
  isTrainedDown,
}: Pick<FleetOutlier, "cells" | "confirmed"> & { isTrainedDown: boolean }): FleetAction {
  if (confirmed === false) return "none";
  if (isTrainedDown) return "reset";
  const most = Math.max(...cells.map(({ change }) => -change));
  return most >= isolatedFrom ? "isolate" : "monitor";
}

export function actionOnNode(state: FleetNode["state"]): FleetAction {
  if (state === "wrong data") return "isolate";
  if (state === "measured") return "none";
  return state === "unreadable" ? "monitor" : "reset";
}
