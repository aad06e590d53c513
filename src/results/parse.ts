import { z } from "zod";
import { PinbenchError } from "../errors.js";
import { documentWords } from "../settings/document-formats.js";
import { leastFigure } from "../settings/schema-parts.js";
import { parseJson } from "../text-file.js";
import { type CellResult, cellResultSchema, type Distribution } from "./cell-schema.js";
import type { HistoryFigure } from "./history-entry.js";
import { type ResultDocument, resultSchema } from "./schema.js";

const knownVersion = 1;
const rerunHint = "Give a file that `pinbench run --output FILE.json` wrote.";

/**
 * Parses a result document. Messages call it `name`, usually a path. Throws a PinbenchError (usage) that names the
 * first fault.
 */
export function parseResult(text: string, name = "the result"): ResultDocument {
  return checkedResult(parseJson(text, name, rerunHint), name);
}

export function checkedResult(value: unknown, name: string): ResultDocument {
  const document = shapedAs(resultSchema, value, name);
  checkIds(document, name);
  for (const cell of document.cells) {
    const fault = faultOf(cell);
    if (fault !== null) throw unusable(`${name} has ${fault} the cell ${cell.id}.`);
  }
  checkPossible(document, name);
  return document;
}

function shapedAs<Shape>(schema: z.ZodType<Shape>, value: unknown, name: string): Shape {
  checkKind(value, name);
  checkVersion(value, name);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue === undefined ? "" : ` at ${describePath(issue.path)}: ${issue.message}`;
  throw unusable(`${name} is not a valid pinbench result${where}.`);
}

/** Words for other documents of pinbench, by `kind`; a result has none. */
const otherDocuments: Readonly<Record<string, string>> = {
  ...documentWords,
  "fleet-run": "the list of a folder of `pinbench fleet run`",
};

function checkKind(value: unknown, name: string): void {
  const { kind } = (value ?? {}) as { kind?: unknown };
  if (typeof kind !== "string" || !Object.hasOwn(otherDocuments, kind)) return;
  throw unusable(`${name} is ${otherDocuments[kind]}, not a result of a run.`);
}

/** Throws a usage error if a document has no version, or one that this pinbench cannot read. */
export function checkVersion(value: unknown, name: string): void {
  if (typeof value !== "object" || value === null || !("schemaVersion" in value)) {
    throw unusable(`${name} is JSON, but not a pinbench result: it has no schemaVersion.`);
  }
  const { schemaVersion } = value;
  if (schemaVersion !== knownVersion) {
    throw new PinbenchError(
      "usage",
      `${name} has ${describeVersion(schemaVersion)}, and this pinbench reads version ${knownVersion}.`,
      { hint: "Read it with the pinbench that wrote it, or measure again." },
    );
  }
}

/** A version in words, to follow "has". Lists and objects are not shown, because they may be deeply nested. */
export function describeVersion(version: unknown): string {
  const isNested = typeof version === "object" && version !== null;
  return isNested ? "a schemaVersion that is not a number" : `schemaVersion ${JSON.stringify(version)}`;
}

function checkIds({ cells }: { cells: readonly { id: string }[] }, name: string): void {
  const ids = new Set<string>();
  for (const { id } of cells) {
    if (ids.has(id)) throw unusable(`${name} has the cell ${id} twice.`);
    ids.add(id);
  }
}

/** A cell's fault in words before "the cell …", such as "no samples of"; null for none. */
function faultOf({ outcome, samples, stats, load }: CellResult): string | null {
  const ragged = samples.find(
    ({ startNs, durationNs, round }) =>
      startNs.length !== durationNs.length || round.length !== durationNs.length,
  );
  if (ragged !== undefined) return `${ragged.direction} samples of unequal columns in`;
  const isFinished = outcome === "converged" || outcome === "budget";
  if (isFinished && !samples.some(({ durationNs }) => durationNs.length > 0)) return "no samples of";
  if (isFinished && stats.length === 0) return "samples but no figures of";
  for (const { direction } of stats) {
    // A sum has no samples of its own, but those of both directions.
    const own = samples.find((one) => one.direction === direction)?.durationNs ?? [];
    if (direction !== "sum" && own.length === 0) return `${direction} figures without samples in`;
  }
  const ofFigures = faultOfFigures(stats);
  if (ofFigures !== null) return ofFigures;
  if (load == null) return null;
  // On a busy machine, copies may leave nothing for a load.
  const fault = faultOfFigure(load.alone) ?? faultFromZeroUp(load.during) ?? faultFromZeroUp(load.keptShare);
  return fault === null ? null : `figures of the load ${fault} in`;
}

type Figure = Pick<Distribution, "median"> & Partial<Distribution>;

interface Figures {
  direction: CellResult["stats"][number]["direction"];
  bandwidthGBps: Figure;
  latencyUs: Figure | null;
}

/** A fault of a cell's figures in words before "the cell …"; null for none. */
function faultOfFigures(stats: readonly Figures[]): string | null {
  for (const { direction, bandwidthGBps, latencyUs } of stats) {
    const figures = latencyUs === null ? [bandwidthGBps] : [bandwidthGBps, latencyUs];
    const fault = figures.map(faultOfFigure).find((one) => one !== null);
    if (fault !== undefined) return `${direction} figures ${fault} in`;
  }
  return null;
}

/** In GB/s, each direction: no link between host and device is half as fast. */
const mostOfLink = 2e3;
/** In GB/s: copies within or between devices, or by a CPU, which may run from its caches. */
const mostElsewhere = 1e5;
/** In µs; a copy needs at least one driver call. */
const leastLatencyUs = 1e-3;

/**
 * Why no machine can have this figure, in words that follow it; null if it is possible. Impossible figures come from
 * edits, wrong units or jumping clocks, and would hide any loss.
 */
export function impossibleReason(
  { id, moved, unit }: Pick<HistoryFigure, "id" | "moved" | "unit">,
  value: number,
  backend: ResultDocument["backend"],
): string | null {
  if (unit === "us") return value < leastLatencyUs ? "no copy takes less than 1 ns" : null;
  const isOverLink = backend === "cuda" && /^d\d+\/(h2d|d2h|bidir)\/(?!host\/)/.test(id);
  const most = isOverLink ? mostOfLink * (moved === "sum" ? 2 : 1) : mostElsewhere;
  return value > most ? `no ${isOverLink ? "link" : "memory"} carries more than ${most / 1e3} TB/s` : null;
}

export function checkPossible(
  {
    cells,
    backend,
  }: { cells: readonly { id: string; stats: readonly Figures[] }[]; backend: ResultDocument["backend"] },
  name: string,
): void {
  for (const { id, stats } of cells) {
    for (const { direction: moved, bandwidthGBps, latencyUs } of stats) {
      const figures = [["GB/s", bandwidthGBps] as const, ...(latencyUs ? [["us", latencyUs] as const] : [])];
      for (const [unit, figure] of figures) {
        const parts = partsOf(figure);
        const value = unit === "us" ? Math.min(...parts) : Math.max(...parts);
        const reason = impossibleReason({ id, moved, unit }, value, backend);
        if (reason === null) continue;
        // Unrounded: rounding could make it look possible.
        const shown = `${value} ${unit === "us" ? "µs" : "GB/s"}`;
        throw new PinbenchError("usage", `${name} has ${shown} in the cell ${id}: ${reason}.`, {
          hint: "Measure again, and leave this run out: its file was edited, or its clock jumped.",
        });
      }
    }
  }
}

/** Tolerance for rounded ends of an interval. */
const slack = 1e-9;

/** A fault of a figure, such as "that are not above 0"; null for none. */
function faultOfFigure(figure: Figure): string | null {
  return partsOf(figure).every((one) => one > 0) ? faultFromZeroUp(figure) : "that are not above 0";
}

function faultFromZeroUp(figure: Figure): string | null {
  const parts = partsOf(figure);
  if (parts.some((one) => one < 0)) return "below 0";
  if (parts.some((one) => one > 0 && one < leastFigure)) return "that no machine has";
  const { median, low, high } = figure;
  const isWithin = (low ?? median) <= median * (1 + slack) && median <= (high ?? median) * (1 + slack);
  return isWithin ? null : "outside of their own interval";
}

function partsOf({ median, low, high, processMedians }: Figure): number[] {
  return [median, low ?? median, high ?? median, ...(processMedians ?? [])];
}

/** `["cells", 3, "samples"]` becomes `cells[3].samples`. */
export function describePath(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "the top";
  return path
    .map((key, depth) => (typeof key === "number" ? `[${key}]` : `${depth === 0 ? "" : "."}${String(key)}`))
    .join("");
}

function unusable(message: string): PinbenchError {
  return new PinbenchError("usage", message, { hint: rerunHint });
}

/**
 * Parses only the figures of result documents, for many thousands of them: samples and full checks take most of the
 * time.
 */

const { run, plan, host, devices, ...rest } = resultSchema.shape;
const { bandwidthGBps, latencyUs, ...stats } = cellResultSchema.shape.stats.element.shape;

const figuresSchema = z.object({
  ...z.object(rest).pick({ backend: true, notice: true, fingerprint: true }).shape,
  run: run.pick({ id: true, startedAt: true, wallNs: true, status: true, error: true, labels: true }),
  host: host.unwrap().pick({ hostname: true }).nullable(),
  devices: z.array(
    devices.element.pick({ ordinal: true, name: true, uuid: true, pciBusId: true, link: true }),
  ),
  plan: plan
    .unwrap()
    .pick({ numa: true })
    .extend({
      settings: z.object({ devices: z.unknown(), origins: z.object({ devices: z.unknown().optional() }) }),
    })
    .nullable(),
  cells: z.array(
    cellResultSchema
      .pick({ id: true, device: true, memory: true, mode: true, outcome: true, error: true })
      .extend({
        stats: z.array(
          z.object({
            direction: stats.direction,
            bandwidthGBps: bandwidthGBps.pick({ median: true }),
            latencyUs: latencyUs.unwrap().pick({ median: true }).nullable(),
          }),
        ),
      }),
  ),
});

export type ResultFigures = z.infer<typeof figuresSchema>;

/**
 * Columns of samples in a text. They have only numbers, and no string of a document matches, because quotes in strings
 * have a backslash.
 */
const columns = /"(startNs|durationNs|round)":\s*\[[^\]"]*\]/g;

export function withoutSamples(text: string): string {
  return text.replace(columns, '"$1":[]');
}

/**
 * The figures in a result document of unknown kind, parsed from a text `withoutSamples()`. Messages call it `name`,
 * usually a path. Throws a PinbenchError (usage) that names the first fault found.
 */
export function checkedFigures(value: unknown, name: string): ResultFigures {
  const document = shapedAs(figuresSchema, value, name);
  checkIds(document, name);
  for (const { id, stats, outcome } of document.cells) {
    const isFinished = outcome === "converged" || outcome === "budget";
    const fault = isFinished && stats.length === 0 ? "no figures of" : faultOfFigures(stats);
    if (fault !== null) throw unusable(`${name} has ${fault} the cell ${id}.`);
  }
  checkPossible(document, name);
  return document;
}
