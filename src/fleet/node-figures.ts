import { cellFigures } from "../compare/result-set.js";
import { timeText, withoutFullStop } from "../draw/words.js";
import { cellId, parseCellId } from "../results/cell-id.js";
import type { Cell } from "../results/cell-schema.js";
import type { ResultFigures } from "../results/parse.js";
import type { FigureKind, FleetNode } from "./fleet-document.js";

/**
 * The kept part of a node's result: its facts, and one figure per cell and GPU. Samples are dropped, because a fleet's
 * results have billions.
 */
export interface NodeFigures {
  host: string;
  state: FleetNode["state"];
  /** Why it is not `measured`; null if it is. */
  reason: string | null;
  file: string | null;
  runId: string | null;
  startedAt: string | null;
  wallNs: number | null;
  labels: Readonly<Record<string, string>>;
  /** Set if devices were emulated. */
  notice: string | null;
  /** As in a result's fingerprint, and the best link of card and slot; null if unknown. */
  facts: Readonly<Record<string, string | null>>;
  devices: readonly DeviceFigures[];
  /** Older results of the node, which do not count; the newest first. */
  earlier?: readonly NodeFigures[];
  /** A clause on figures of it that cannot be true and do not count. */
  impossible?: string;
  /** Cells that failed, but not on all GPUs or not all of a GPU's. */
  failures?: readonly FailedCell[];
  /** Whether the user named the GPUs to measure: others are not missing then. */
  choseDevices?: boolean;
  /** As in FleetNode. */
  notes: readonly string[];
}

/** A cell that failed on some GPUs of a node, with the ordinals of these. */
export interface FailedCell {
  cell: string;
  devices: number[];
  reason: string;
}

/** A GPU of a node. */
export interface DeviceFigures {
  ordinal: number;
  name: string;
  uuid: string | null;
  pciBusId: string | null;
  /** The link under load, and the best of card and slot; null if NVML does not report it. */
  link: Link | null;
  linkCapability: Link | null;
  /** Figures by `keyOf()` of their kind: GB/s, or microseconds a copy. */
  figures: ReadonlyMap<string, number>;
}

/** A PCIe link. */
export interface Link {
  generation: number;
  width: number;
}

/** "gen5 x16", as in fingerprints; null for an unknown link. */
export function linkText(link: Link | null): string | null {
  return link === null ? null : `gen${link.generation} x${link.width}`;
}

/** The link of a text from linkText(). */
export function linkOfText(text: string | null): Link | null {
  const [, generation, width] = /^gen(\d+) x(\d+)$/.exec(text ?? "") ?? [];
  return generation === undefined ? null : { generation: Number(generation), width: Number(width) };
}

const kinds = new Map<string, { key: string; kind: FigureKind; cell: Cell }>();

/** The key of a kind of figures, shared by all GPUs with such a figure. Throws a usage error for an invalid cell. */
export function keyOf(kind: FigureKind): string {
  const key = `${kind.cell} ${kind.moved} ${kind.unit}`;
  const known = kinds.get(key);
  if (known !== undefined) return known.key;
  kinds.set(key, { key, kind, cell: parseCellId(`d0/${kind.cell}`) });
  return key;
}

/** The kind for a key from `keyOf()`. Throws a RangeError for any other key. */
export function kindOf(key: string): FigureKind {
  return knownKind(key).kind;
}

/** The cell of such figures, on device 0: judging a fleet asks for it millions of times. */
export function cellOfKey(key: string): Cell {
  return knownKind(key).cell;
}

function knownKind(key: string): { kind: FigureKind; cell: Cell } {
  const known = kinds.get(key);
  if (known === undefined) throw new RangeError(`${key} names no figures`);
  return known;
}

/**
 * The figures of one result. Throws a usage error for an impossible cell. `path` is its file; `host` is the launcher's
 * name of the node, if known; otherwise the node's label or its own name counts.
 */
export function figuresOfNode(document: ResultFigures, path: string | null, host?: string): NodeFigures {
  const { run, devices } = document;
  const labels = { ...run.labels };
  const figures = devices.map(() => new Map<string, number>());
  const places = new Map(devices.map(({ ordinal }, index) => [ordinal, index]));
  const lacking = new Map<string, { reason: string; devices: number[] }>();
  const failures = new Map<string, FailedCell>();
  for (const cell of document.cells) {
    // Host cells are a control of pageable copies, and say nothing about a GPU.
    if (cell.memory === "host") continue;
    const ofCell = cellFigures(cell, run);
    const { absence } = ofCell;
    const withoutDevice = cellId({ ...ofCell.cell, device: 0 }).slice("d0/".length);
    for (const { moved, unit, value } of ofCell.figures) {
      // The sum of both directions adds nothing to them.
      if (moved === "sum") continue;
      figures[places.get(cell.device) ?? -1]?.set(keyOf({ cell: withoutDevice, moved, unit }), value);
    }
    if (absence === null) continue;
    const others = lacking.get(`${withoutDevice} ${absence.reason}`)?.devices ?? [];
    const reason = `it has no figure of ${withoutDevice}: ${absence.reason}`;
    lacking.set(`${withoutDevice} ${absence.reason}`, { reason, devices: [...others, cell.device] });
    if (cell.outcome !== "failed") continue;
    const failed = failures.get(withoutDevice) ?? {
      ...{ cell: withoutDevice, devices: [] },
      reason: withoutFullStop(cell.error?.message ?? "no reason is known"),
    };
    failed.devices.push(cell.device);
    failures.set(withoutDevice, failed);
  }
  const state = stateOf(document, figures);
  const uuids = devices.map(({ uuid }) => uuid);
  return {
    host: host ?? labels.node ?? document.host?.hostname ?? "unknown",
    ...state,
    file: path,
    runId: run.id,
    startedAt: run.startedAt,
    wallNs: run.wallNs,
    labels,
    notice: document.notice,
    facts: factsOf(document),
    failures: [...failures.values()],
    choseDevices: choseDevices(document),
    devices: devices.map((device, index) => ({
      ordinal: device.ordinal,
      name: device.name,
      // A UUID that several GPUs have identifies none of them.
      uuid: uuids.indexOf(device.uuid) === uuids.lastIndexOf(device.uuid) ? device.uuid : null,
      pciBusId: device.pciBusId,
      link: linkOf(device.link?.generation, device.link?.width),
      linkCapability: linkOf(device.link?.maxGeneration, device.link?.maxWidth),
      figures: figures[index]!,
    })),
    notes: [...lacking.values()].flatMap(({ reason, devices: of }) => {
      // The state of a node that failed has the reason why a GPU has no figures at all.
      const told = state.state === "failed" ? of.filter((gpu) => figures[places.get(gpu) ?? -1]?.size) : of;
      if (told.length === 0) return [];
      return [`${told.length === devices.length ? "" : `GPU ${told.join(", ")}: `}${reason}`];
    }),
  };
}

function choseDevices({ plan }: ResultFigures): boolean {
  const { devices, origins } = plan?.settings ?? {};
  return Array.isArray(devices) && origins?.devices !== undefined;
}

function linkOf(generation: number | null | undefined, width: number | null | undefined): Link | null {
  return generation == null || width == null ? null : { generation, width };
}

/** The best of a node's GPUs: a worse one must not put its node into another group. */
function bestCapability({ devices }: ResultFigures): string | null {
  const capabilities = devices
    .map(({ link }) => linkOf(link?.maxGeneration, link?.maxWidth))
    .filter((link) => link !== null);
  // Each generation doubles the rate of a lane.
  const rate = ({ generation, width }: Link) => 2 ** generation * width;
  return linkText(capabilities.sort((a, b) => rate(b) - rate(a))[0] ?? null);
}

function factsOf(document: ResultFigures): Record<string, string | null> {
  const numa = document.plan?.numa;
  return {
    ...document.fingerprint,
    linkCapability: bestCapability(document),
    workersOn: numa == null ? null : String(numa),
  };
}

function stateOf(
  { run, cells, devices }: ResultFigures,
  figures: readonly ReadonlyMap<string, number>[],
): Pick<NodeFigures, "state" | "reason"> {
  const wrong = cells.filter(({ outcome }) => outcome === "mismatch");
  if (wrong.length > 0) {
    const at = [...new Set(wrong.map(({ device }) => device))].sort((a, b) => a - b);
    const where = at.length === devices.length && at.length > 1 ? "all GPUs" : `GPU ${at.join(", ")}`;
    return {
      state: "wrong data",
      reason: `copies of ${where} came back wrong at ${timeText(run.startedAt)}`,
    };
  }
  if (run.status === "failed") {
    return { state: "failed", reason: `its run failed: ${run.error?.message ?? "no reason is known"}` };
  }
  if (run.status !== "complete") {
    return { state: "failed", reason: "its run was interrupted, or was killed" };
  }
  const failed = cells.filter(({ outcome }) => outcome === "failed");
  const errorOf = (cell: (typeof failed)[number]) => cell.error?.message ?? "no reason is known";
  if (figures.every(({ size }) => size === 0)) {
    const [first] = failed;
    return {
      state: "failed",
      reason: first === undefined ? "its result has no figures" : `it failed: ${errorOf(first)}`,
    };
  }
  const broken = failed.find(
    ({ device }) => figures[devices.findIndex(({ ordinal }) => ordinal === device)]?.size === 0,
  );
  if (broken !== undefined) {
    return { state: "failed", reason: `GPU ${broken.device} has no figures: ${errorOf(broken)}` };
  }
  return { state: "measured", reason: null };
}

/**
 * The grouping of nodes. Fixed hardware always divides: backend, GPU, CPU, and the best link of card and slot. The link
 * under load never does, because a node whose link trained down would hide in a group of its own. Drivers, and the
 * number of GPUs, divide only if at least `enoughToDivide` nodes share a value: a node that lost a GPU, or has another
 * driver alone, is compared with otherwise like nodes. Other differences (kernel, governor, huge pages) are evidence on
 * a node, but no reason to compare it with fewer others.
 */

export const dividing = ["backend", "gpu", "cpu", "linkCapability"] as const;
const dividingWhereMany = ["gpuCount", "driver"] as const;

/** With fewer nodes, a group's own spread is hardly known. */
const enoughToDivide = 8;

/** Facts of a node that are reported if they differ from most nodes of its group. */
export const tellingFacts = [
  "linkUnderLoad",
  "gpuCount",
  "driver",
  "kernel",
  "governor",
  "transparentHugePages",
  "usableCpus",
  "numaNodes",
  "virtualization",
  "container",
  "workersOn",
  "pinbench",
] as const;

/** Like nodes, and what they share. */
export interface NodeGroup {
  /** The dividing facts, and those that all nodes of the group share. */
  facts: Record<string, string | null>;
  nodes: readonly NodeFigures[];
  notes: readonly string[];
}

/** The groups of these nodes, all of which have figures; the largest first. */
export function groupNodes(nodes: readonly NodeFigures[]): NodeGroup[] {
  let parts = [...byFact(nodes, ({ facts }) => JSON.stringify(dividing.map((fact) => facts[fact] ?? null)))];
  parts = joinUnknown(parts);
  for (const fact of dividingWhereMany) parts = parts.flatMap((part) => divideWhereMany(part, fact));
  parts.sort((a, b) => b.length - a.length || a[0]!.host.localeCompare(b[0]!.host));
  return parts.map((part) => ({
    facts: commonFacts(part),
    nodes: part,
    notes: oddCapability(part, parts),
  }));
}

function byFact(nodes: readonly NodeFigures[], keyOfNode: (node: NodeFigures) => string): NodeFigures[][] {
  const parts = new Map<string, NodeFigures[]>();
  for (const node of nodes) {
    const key = keyOfNode(node);
    const part = parts.get(key);
    if (part === undefined) parts.set(key, [node]);
    else part.push(node);
  }
  return [...parts.values()];
}

/** Nodes with an unknown link capability (NVML does not report it) join the largest otherwise like group. */
function joinUnknown(parts: NodeFigures[][]): NodeFigures[][] {
  const known = parts.filter(([first]) => first!.facts.linkCapability != null).map((part) => [...part]);
  const unknown = parts.filter(([first]) => first!.facts.linkCapability == null);
  const alone = unknown.filter((part) => {
    const alike = known.filter((other) =>
      differBy(part[0]!, other[0]!).every((fact) => fact === "linkCapability"),
    );
    const [largest] = alike.sort((a, b) => b.length - a.length);
    largest?.push(...part);
    return largest === undefined;
  });
  return [...known, ...alone];
}

function differBy(a: NodeFigures, b: NodeFigures): string[] {
  return dividing.filter((fact) => (a.facts[fact] ?? null) !== (b.facts[fact] ?? null));
}

/**
 * Nodes that share a value with many form a group; the others join the largest one, and all stay together if there is
 * none.
 */
function divideWhereMany(nodes: NodeFigures[], fact: (typeof dividingWhereMany)[number]): NodeFigures[][] {
  const parts = byFact(nodes, ({ facts }) => facts[fact] ?? "").sort((a, b) => b.length - a.length);
  const isOwn = (part: NodeFigures[], index: number) =>
    part.length >= enoughToDivide && (index === 0 || fact !== "gpuCount" || areBuiltAlike(part));
  const many = parts.filter(isOwn);
  if (many.length === 0) return [nodes];
  const few = parts.filter((part) => !many.includes(part)).flat();
  return [[...many[0]!, ...few], ...many.slice(1)];
}

/**
 * Whether many nodes of a number of GPUs have them at the same places. Nodes that lost a GPU have not: of nodes that
 * were built with fewer, each lacks the same ones. Machines whose PCI addresses all differ do not show it.
 */
function areBuiltAlike(nodes: readonly NodeFigures[]): boolean {
  const placesOf = ({ devices }: NodeFigures) => devices.map(({ pciBusId }) => pciBusId ?? "").sort();
  const most = Math.max(...nodes.map(({ devices }) => devices.length));
  const distinct = new Set(nodes.flatMap(placesOf));
  if (distinct.has("") || distinct.size > 2 * most) return true;
  return byFact(nodes, (node) => placesOf(node).join()).some(({ length }) => length >= enoughToDivide);
}

/** The value of most nodes, and their number; null if none is known. */
export function usualFact(
  nodes: readonly NodeFigures[],
  fact: string,
): { value: string; nodes: number } | null {
  const counts = new Map<string, number>();
  for (const { facts } of nodes) {
    const value = facts[fact] ?? null;
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const [usual] = [...counts].sort(([, a], [, b]) => b - a);
  return usual === undefined ? null : { value: usual[0], nodes: usual[1] };
}

function commonFacts(nodes: readonly NodeFigures[]): Record<string, string | null> {
  const facts: Record<string, string | null> = {};
  for (const fact of [...dividing, ...dividingWhereMany]) facts[fact] = usualFact(nodes, fact)?.value ?? null;
  for (const fact of tellingFacts) {
    const usual = usualFact(nodes, fact);
    if (usual?.nodes === nodes.length) facts[fact] = usual.value;
  }
  return facts;
}

/** A note if nodes are a separate group only because more nodes have links with another capability. */
function oddCapability(part: readonly NodeFigures[], parts: readonly (readonly NodeFigures[])[]): string[] {
  const larger = parts.find(
    (other) => other.length > part.length && differBy(part[0]!, other[0]!).join() === "linkCapability",
  );
  if (larger === undefined) return [];
  const own = part[0]!.facts.linkCapability;
  const others = larger[0]!.facts.linkCapability;
  return [
    `${part.length === 1 ? "Its link" : "Their links"} can do ${own}, and ${larger.length} nodes that are otherwise alike ${others}: look for another slot, riser or setting of the firmware.`,
  ];
}
