import { timeText, withoutFullStop } from "../draw/words.js";
import { parseCellId } from "../results/cell-id.js";
import type { Cell } from "../results/cell-schema.js";
import type { ResultFigures } from "../results/parse.js";
import type { FigureKind, FleetNode } from "./fleet-document.js";

/**
 * What is kept of a node's result: facts, and one figure per cell and GPU. Samples are dropped: a fleet's results have
 * billions.
 */
export interface NodeFigures {
  /** Host name; the path of the file if `isNamed` is false. */
  host: string;
  isNamed: boolean;
  state: FleetNode["state"];
  reason: string | null;
  file: string | null;
  runId: string | null;
  startedAt: string | null;
  wallNs: number | null;
  labels: Readonly<Record<string, string>>;
  /** Set if devices were emulated. */
  notice: string | null;
  /** Facts as in a result's fingerprint, and the best link of card and slot; null if unknown. */
  facts: Readonly<Record<string, string | null>>;
  devices: readonly DeviceFigures[];
  /** Older results of the node, newest first; they do not count. */
  earlier?: readonly NodeFigures[];
  /** Whether the user chose the GPUs; then no GPU is missing. */
  choseDevices?: boolean;
  notes: readonly string[];
}

export interface DeviceFigures {
  ordinal: number;
  name: string;
  uuid: string | null;
  pciBusId: string | null;
  /** Link under load, and the best that card and slot support; null if NVML does not report it. */
  link: Link | null;
  linkCapability: Link | null;
  /** Figures by `keyOf()`, in GB/s or microseconds per copy. */
  figures: ReadonlyMap<string, number>;
  /** Reasons for failed cells, by cell id without a device. */
  failures: ReadonlyMap<string, string>;
}

interface Link {
  generation: number;
  width: number;
}

/** "gen5 x16", as in fingerprints; null for an unknown link. */
export function linkText(link: Link | null): string | null {
  return link === null ? null : `gen${link.generation} x${link.width}`;
}

export function linkOfText(text: string | null): Link | null {
  const [, generation, width] = /^gen(\d+) x(\d+)$/.exec(text ?? "") ?? [];
  return generation === undefined ? null : { generation: Number(generation), width: Number(width) };
}

/** Relative rate of a link: each generation doubles the rate of a lane. */
export function laneRate({ generation, width }: Link): number {
  return 2 ** generation * width;
}

const kinds = new Map<string, { key: string; kind: FigureKind; cell: Cell }>();

/** The key of a kind of figure, equal for all GPUs. Throws a usage error for an invalid cell. */
export function keyOf(kind: FigureKind): string {
  const key = `${kind.cell} ${kind.moved} ${kind.unit}`;
  const known = kinds.get(key);
  if (known !== undefined) return known.key;
  kinds.set(key, { key, kind, cell: parseCellId(`d0/${kind.cell}`) });
  return key;
}

/** The kind of figure for a key from `keyOf()`. Throws a RangeError for other keys. */
export function kindOf(key: string): FigureKind {
  return knownKind(key).kind;
}

/** The cell for a key, on device 0. Cached, because judging a fleet calls this millions of times. */
export function cellOfKey(key: string): Cell {
  return knownKind(key).cell;
}

function knownKind(key: string): { kind: FigureKind; cell: Cell } {
  const known = kinds.get(key);
  if (known === undefined) throw new RangeError(`${key} names no figures`);
  return known;
}

/**
 * The figures of one result; `path` is its file. The node's name is its label (set by `fleet run`), its host name or
 * its file. Throws a usage error for an impossible cell.
 */
export function figuresOfNode(document: ResultFigures, path: string | null): NodeFigures {
  const { run, devices, cells } = document;
  const labels = run.labels ?? {};
  const found = devices.map(({ ordinal }) => {
    const own = cells.filter(({ device, memory }) => device === ordinal && memory !== "host");
    return { figures: figuresOfCells(own), failures: failuresOf(own) };
  });
  const uuids = devices.map(({ uuid }) => uuid);
  const name = labels.node ?? document.host?.hostname ?? null;
  return {
    host: name ?? fileName(path ?? run.id),
    isNamed: name !== null,
    ...stateOf(document, found),
    file: path,
    runId: run.id,
    startedAt: run.startedAt,
    wallNs: run.wallNs,
    labels,
    notice: document.notice,
    facts: factsOf(document),
    choseDevices: choseDevices(document),
    devices: devices.map((device, index) => ({
      ordinal: device.ordinal,
      name: device.name,
      // A UUID shared by several GPUs identifies none.
      uuid: uuids.indexOf(device.uuid) === uuids.lastIndexOf(device.uuid) ? device.uuid : null,
      pciBusId: device.pciBusId,
      link: linkOf(device.link?.generation, device.link?.width),
      linkCapability: linkOf(device.link?.maxGeneration, device.link?.maxWidth),
      ...found[index]!,
    })),
    notes: [],
  };
}

const withoutDevice = (id: string) => id.slice(id.indexOf("/") + 1);

/** Medians of finished cells, without host cells, which do not use a GPU. */
function figuresOfCells(cells: ResultFigures["cells"]): Map<string, number> {
  const figures = new Map<string, number>();
  for (const { id, mode, outcome, stats } of cells) {
    if (outcome !== "converged" && outcome !== "budget") continue;
    const unit = mode === "latency" ? "us" : "GB/s";
    for (const { direction: moved, bandwidthGBps, latencyUs } of stats) {
      // The sum adds nothing to its two directions.
      if (moved === "sum") continue;
      const value = unit === "us" ? latencyUs?.median : bandwidthGBps.median;
      if (value !== undefined) figures.set(keyOf({ cell: withoutDevice(id), moved, unit }), value);
    }
  }
  return figures;
}

function failuresOf(cells: ResultFigures["cells"]): Map<string, string> {
  const failed = cells.filter(({ outcome }) => outcome === "failed");
  return new Map(
    failed.map(({ id, error }) => [
      withoutDevice(id),
      withoutFullStop(error?.message ?? "no reason is known"),
    ]),
  );
}

export function withoutFigures(host: string): Omit<NodeFigures, "state" | "reason"> {
  return {
    ...{ host, isNamed: true, file: null, runId: null, startedAt: null, wallNs: null, notice: null },
    ...{ labels: {}, facts: {}, devices: [], notes: [] },
  };
}

/** A path with a slash, so that it differs from a host name. */
export function fileName(path: string): string {
  return path.includes("/") ? path : `./${path}`;
}

function choseDevices({ plan }: ResultFigures): boolean {
  const { devices, origins } = plan?.settings ?? {};
  return Array.isArray(devices) && origins?.devices !== undefined;
}

function linkOf(generation: number | null | undefined, width: number | null | undefined): Link | null {
  return generation == null || width == null ? null : { generation, width };
}

/** The best link of a node's GPUs: one worse GPU must not put the node into another group. */
function bestCapability({ devices }: ResultFigures): string | null {
  const capabilities = devices
    .map(({ link }) => linkOf(link?.maxGeneration, link?.maxWidth))
    .filter((link) => link !== null);
  return linkText(capabilities.sort((a, b) => laneRate(b) - laneRate(a))[0] ?? null);
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
  found: readonly Pick<DeviceFigures, "figures" | "failures">[],
): Pick<NodeFigures, "state" | "reason"> {
  const failed = (reason: string) => ({ state: "failed", reason }) as const;
  const wrong = cells.flatMap(({ outcome, device }) => (outcome === "mismatch" ? [device] : []));
  if (wrong.length > 0) {
    const gpus = [...new Set(wrong)].sort((a, b) => a - b);
    const reason = `copies of GPU ${gpus.join(", ")} came back wrong at ${timeText(run.startedAt)}`;
    return { state: "wrong data", reason };
  }
  if (run.status === "failed") return failed(`its run failed: ${run.error?.message ?? "no reason is known"}`);
  if (run.status !== "complete") return failed("its run was interrupted, or was killed");
  if (devices.length === 0) {
    const reason =
      "its result lists no GPU, so nothing shows which others are like it: import a file that lists them";
    return { state: "unreadable", reason };
  }
  if (found.some(({ figures }) => figures.size > 0)) return { state: "measured", reason: null };
  const [first] = found.flatMap(({ failures }) => [...failures.values()]);
  return failed(first === undefined ? "its result has no figures" : `it failed: ${first}`);
}

export interface NodeGroup {
  /** Facts by which groups are formed, and facts that all its nodes share. */
  facts: Record<string, string | null>;
  nodes: readonly NodeFigures[];
  notes: readonly string[];
}
