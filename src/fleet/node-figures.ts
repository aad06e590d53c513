import { cellFigures } from "../compare/result-set.js";
import { cellId, parseCellId } from "../results/cell-id.js";
import type { ResultFigures } from "../results/parse-figures.js";
import type { FigureKind, FleetNode } from "./fleet-document.js";

/**
 * What is kept of a node: its facts, and one figure a cell and GPU. All samples are dropped, for a fleet's results have
 * billions.
 */
export interface NodeFigures {
  host: string;
  state: FleetNode["state"];
  /** Why it is not `measured`; null where it is. */
  reason: string | null;
  file: string | null;
  runId: string | null;
  startedAt: string | null;
  wallNs: number | null;
  labels: Readonly<Record<string, string>>;
  /** Set where devices were emulated. */
  notice: string | null;
  /** As a result's fingerprint, and what the card and the slot can do; null where it is not known. */
  facts: Readonly<Record<string, string | null>>;
  devices: readonly DeviceFigures[];
  /** Older results of the node, which do not count; the newest first. */
  earlier?: readonly NodeFigures[];
  /** As in FleetNode. */
  notes: readonly string[];
}

/** A GPU of a node. */
export interface DeviceFigures {
  ordinal: number;
  name: string;
  uuid: string | null;
  pciBusId: string | null;
  /** What the link was under load, and what card and slot can do; null where NVML does not tell. */
  link: Link | null;
  linkCapability: Link | null;
  /** Figures by the key of their kind (`keyOf()`): GB/s, or microseconds a copy. */
  figures: ReadonlyMap<string, number>;
}

/** A PCIe link. */
export interface Link {
  generation: number;
  width: number;
}

/** "gen5 x16", as fingerprints have it; null for a link that is not known. */
export function linkText(link: Link | null): string | null {
  return link === null ? null : `gen${link.generation} x${link.width}`;
}

const kinds = new Map<string, { key: string; kind: FigureKind }>();

/**
 * What names a kind of figures; one string for all GPUs that have such a figure. Throws a usage error for a cell that is
 * none.
 */
export function keyOf(kind: FigureKind): string {
  const key = `${kind.cell} ${kind.moved} ${kind.unit}`;
  const known = kinds.get(key);
  if (known !== undefined) return known.key;
  parseCellId(`d0/${kind.cell}`);
  kinds.set(key, { key, kind });
  return key;
}

/** The kind of a key that `keyOf()` gave. Throws RangeError for any other. */
export function kindOf(key: string): FigureKind {
  const known = kinds.get(key);
  if (known === undefined) throw new RangeError(`${key} names no figures`);
  return known.kind;
}

/**
 * The figures of one result. Throws a usage error for one with a cell that cannot be. `path` is its file; `host` is what the node is called where whoever started it knows that,
 * else the node's label or its own name counts.
 */
export function figuresOfNode(document: ResultFigures, path: string | null, host?: string): NodeFigures {
  const { run, devices } = document;
  const labels = { ...run.labels };
  const figures = devices.map(() => new Map<string, number>());
  const places = new Map(devices.map(({ ordinal }, index) => [ordinal, index]));
  const lacking = new Map<string, { reason: string; devices: number[] }>();
  for (const cell of document.cells) {
    // The control of pageable copies is the host's own speed, and no GPU's.
    if (cell.memory === "host") continue;
    const ofCell = cellFigures(cell, run);
    const { absence } = ofCell;
    const withoutDevice = cellId({ ...ofCell.cell, device: 0 }).slice("d0/".length);
    for (const { moved, unit, value } of ofCell.figures) {
      // The sum of both directions says no more than these do.
      if (moved === "sum") continue;
      figures[places.get(cell.device) ?? -1]?.set(keyOf({ cell: withoutDevice, moved, unit }), value);
    }
    if (absence === null) continue;
    const others = lacking.get(`${withoutDevice} ${absence.reason}`)?.devices ?? [];
    const reason = `it has no figure of ${withoutDevice}: ${absence.reason}`;
    lacking.set(`${withoutDevice} ${absence.reason}`, { reason, devices: [...others, cell.device] });
  }
  return {
    host: host ?? labels.node ?? document.host?.hostname ?? "unknown",
    ...stateOf(
      document,
      figures.some(({ size }) => size > 0),
    ),
    file: path,
    runId: run.id,
    startedAt: run.startedAt,
    wallNs: run.wallNs,
    labels,
    notice: document.notice,
    facts: factsOf(document),
    devices: devices.map((device, index) => ({
      ordinal: device.ordinal,
      name: device.name,
      uuid: device.uuid,
      pciBusId: device.pciBusId,
      link: linkOf(device.link?.generation, device.link?.width),
      linkCapability: linkOf(device.link?.maxGeneration, device.link?.maxWidth),
      figures: figures[index]!,
    })),
    notes: [...lacking.values()].map(
      ({ reason, devices: of }) => `${of.length === devices.length ? "" : `GPU ${of.join(", ")}: `}${reason}`,
    ),
  };
}

function linkOf(generation: number | null | undefined, width: number | null | undefined): Link | null {
  return generation == null || width == null ? null : { generation, width };
}

/** The best of a node's GPUs: one that can do less must not put its node into a group of its own. */
function bestCapability({ devices }: ResultFigures): string | null {
  const capabilities = devices
    .map(({ link }) => linkOf(link?.maxGeneration, link?.maxWidth))
    .filter((link) => link !== null);
  // A generation doubles the rate of a lane.
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
  hasFigures: boolean,
): Pick<NodeFigures, "state" | "reason"> {
  const wrong = cells.filter(({ outcome }) => outcome === "mismatch");
  if (wrong.length > 0) {
    const at = [...new Set(wrong.map(({ device }) => device))].sort((a, b) => a - b);
    const where = at.length === devices.length && at.length > 1 ? "all GPUs" : `GPU ${at.join(", ")}`;
    return { state: "wrong data", reason: `copies of ${where} came back wrong` };
  }
  if (run.status === "failed") {
    return { state: "failed", reason: `its run failed: ${run.error?.message ?? "no reason is known"}` };
  }
  if (run.status !== "complete") {
    return { state: "failed", reason: "its run was interrupted, or was killed" };
  }
  if (!hasFigures) {
    const error = cells.find(({ outcome }) => outcome === "failed")?.error?.message;
    return {
      state: "failed",
      reason: error === undefined ? "its result has no figures" : `it failed: ${error}`,
    };
  }
  return { state: "measured", reason: null };
}
