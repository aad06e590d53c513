import { readFileSync } from "node:fs";
import { z } from "zod";
import { formatGBps } from "../draw/numbers.js";
import { PinbenchError } from "../errors.js";
import type { CellResult } from "../results/cell-schema.js";
import { linkLimitGBps } from "../results/device-facts.js";
import { directionName } from "../results/naming/wording.js";
import { leastReferenceBytes } from "../results/reference-cell.js";
import type { DeviceRecord, ResultDocument } from "../results/schema.js";
import { isPlain } from "../results/variant.js";
import { parseJson, readTextFile } from "../text-file.js";

/*
 * The expected rate of a device, before it is measured: the payload limit of its link, and the share of it that healthy
 * machines reach. reference.json has the shares from pinbench's own recordings: of plain pinned copies of at least 32
 * MiB by one worker, from uncached buffers, over the link's limit without packet overhead.
 *
 * Tolerances: an H200's shares are between 0.873 and 0.880 in all recordings: two sizes, 45 processes on one machine,
 * and three other machines on other days. 5 % is six times that range, so that a healthy machine is not called slow.
 * Of the H100 two machines were recorded. On the second, with other tenants on its host, the rate to the device wandered
 * between 0.755 and 0.833 within minutes, so the tolerance is 15 %: 3 % below the lowest. For other GPUs, the shares are
 * the lowest of the undisturbed ones, and the tolerance is 20 %. Older links reach less: users report 0.77 for
 * a healthy P100 at generation 3 (12.15 GB/s, github.com/mpicbg-scicomp/gearshifft pull request 82) and 0.79 for A100s
 * at generation 4 (24.8 GB/s, NVIDIA's developer forum, topic 352186). The smallest of the usual faults, one generation
 * or half of the lanes, costs 50 %. Copies from pageable memory have no reference: their rate depends on the host's CPU
 * and memory, and differs by half between healthy machines.
 */

const share = z.number().positive().max(1);
const sharesSchema = z.object({ h2d: share, d2h: share });
const entrySchema = z.object({
  alone: sharesSchema,
  /** Copies are slow if they are below it by more than this relative difference. */
  tolerance: z.number().min(0.01).max(0.5),
  /** Files of this repository that show it. */
  sources: z.array(z.string()).min(1),
});

const listedSchema = entrySchema.extend({
  /** Name as reported by the driver. */
  gpu: z.string(),
  /** Rate of each GPU while this many GPUs of one machine copy at the same time; null if not recorded. */
  together: sharesSchema.extend({ devices: z.number().int().min(2) }).nullable(),
});

/** The shape of reference.json. */
export const referenceSchema = z.object({
  /** docs/machines.md shows the links, the number of machines and the days of the recordings. */
  listed: z.array(
    listedSchema.extend({
      link: z.object({ generation: z.number().int(), width: z.number().int() }),
      machines: z.number().int().min(1),
      recorded: z.array(z.iso.date()).min(1),
    }),
  ),
  /** For any other GPU with a known link. */
  byLink: entrySchema,
  /** For an emulated device, whose copies follow a clock. */
  emulated: entrySchema,
});

/** A healthy link: the best generation and width of card and slot together. */
interface HealthyLink {
  generation: number | null;
  width: number | null;
}

/** The rate of a healthy device, in decimal GB/s. */
export interface Expectation {
  h2d: number;
  d2h: number;
  /** The rates while this many GPUs of the machine copy; null if not recorded. More GPUs may share more of the way. */
  together: { devices: number; h2d: number; d2h: number } | null;
  /** How far below that it is still healthy: 0.05 is 5 %. */
  tolerance: number;
  /** Its source, as a clause for people. */
  source: string;
  /** The driver of the recorded machines, if a site's own reference names it. */
  driver?: string;
  /** False if no device of this name was recorded: then it is the share of their links that other kinds reach. */
  isOfKind?: false;
}

type Reference = z.infer<typeof referenceSchema>;

/** Machines recorded by a site, which override those of pinbench, with their driver. */
const siteReferenceSchema = z.object({
  listed: z.array(listedSchema.extend({ driver: z.string().nullable().optional() })),
});
export type SiteReference = z.infer<typeof siteReferenceSchema>;

/** Reads a site's own reference. Rejects with a usage error that names the file and its fault. */
export async function readSiteReference(path: string): Promise<SiteReference> {
  const hint = "Give a JSON file in the form that docs/doctor.md shows.";
  const parsed = siteReferenceSchema.safeParse(parseJson(await readTextFile(path), path, hint));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue === undefined ? "" : ` at ${issue.path.join(".")}: ${issue.message}`;
  throw new PinbenchError("usage", `${path} is not a reference of machines${where}.`, { hint });
}

let loaded: Reference | null = null;

/** Read on first use. */
function readReference(): Reference {
  loaded ??= referenceSchema.parse(
    JSON.parse(readFileSync(new URL("./reference.json", import.meta.url), "utf8")),
  );
  return loaded;
}

/** Whether a device of this name has a part of a GPU, and so of its copy engines and its link. */
export function isPartOfGpu(name: string): boolean {
  // "NVIDIA H100 80GB HBM3 MIG 1g.10gb".
  return / MIG \d+g\.\d+gb/.test(name) || isVirtualGpu(name);
}

/** The name of a vGPU type: "NVIDIA A10-8Q" (NVIDIA's Virtual GPU Software User Guide). */
export function isVirtualGpu(name: string): boolean {
  return /-\d+[ABCQ](?:ME)?$/.test(name);
}

/** The rate of a healthy device of this name over this link; null if the link is unknown, or shared by design. */
export function expectationOf(
  device: { name: string; emulated: boolean },
  { generation, width }: HealthyLink,
  site: SiteReference | null = null,
): Expectation | null {
  const limitGBps = linkLimitGBps(generation, width);
  if (limitGBps === null || isPartOfGpu(device.name)) return null;
  const reference = readReference();
  const own = site?.listed.find(({ gpu }) => gpu === device.name);
  const isOfClock = device.emulated && own === undefined;
  const listed = own ?? (isOfClock ? undefined : reference.listed.find(({ gpu }) => gpu === device.name));
  const { alone, tolerance, sources } = isOfClock ? reference.emulated : (listed ?? reference.byLink);
  const together = listed?.together ?? null;
  const link = `PCIe gen${generation} x${width}`;
  return {
    h2d: alone.h2d * limitGBps,
    d2h: alone.d2h * limitGBps,
    together: together && {
      devices: together.devices,
      h2d: together.h2d * limitGBps,
      d2h: together.d2h * limitGBps,
    },
    tolerance,
    ...(!isOfClock && listed === undefined && { isOfKind: false }),
    ...(own?.driver != null && { driver: own.driver }),
    source: isOfClock
      ? `the emulated link, ${link}`
      : listed !== undefined
        ? own === undefined
          ? `recordings of the ${listed.gpu}`
          : `this site's own recordings of the ${listed.gpu} (${sources[0]})`
        : `its link alone, ${link}: no ${device.name} was recorded, and other GPUs reach this share of their links (${sources[0]})`,
  };
}

/**
 * Bytes that PCIe adds to each packet of generations 1 to 5: 4 of framing and sequence number, 4 of LCRC, and a header
 * of 16 for writes to 64-bit addresses (PCI Express Base Specification 5.0, sections 2.2, 3.6 and 4.2).
 */
const packetOverheadBytes = 24;

/**
 * From this generation on packets travel in flits, whose overhead is already part of the lane's rate; headers remain.
 */
const firstFlitGeneration = 6;
const headerBytes = 16;

/**
 * The payload limit of a link in one direction, in decimal GB/s: all of its bytes, minus packet headers and checks if
 * the largest payload of a packet is known. Acknowledgements and flow control are not subtracted. Null if generation or
 * width is unknown.
 */
export function payloadLimitGBps(
  generation: number | null,
  width: number | null,
  maxPayloadBytes: number | null,
): number | null {
  const limitGBps = linkLimitGBps(generation, width);
  if (limitGBps === null || maxPayloadBytes === null || maxPayloadBytes <= 0) return limitGBps;
  const overhead = generation! >= firstFlitGeneration ? headerBytes : packetOverheadBytes;
  return (limitGBps * maxPayloadBytes) / (maxPayloadBytes + overhead);
}

/**
 * Advice to run `pinbench doctor` if plain pinned copies of a run are slower than those of healthy machines; null if
 * they are not, or if that is unknown.
 */
export function doctorAdvice({ devices, cells, backend }: ResultDocument): string | null {
  for (const device of devices) {
    for (const direction of ["h2d", "d2h"] as const) {
      const rates = cells.flatMap((cell) => (isComparable(cell, device, direction) ? ratesOf(cell) : []));
      const expectation = expectationFor(device, backend === "emulated");
      if (rates.length === 0 || expectation === null) continue;
      const [best, usual] = [Math.max(...rates), expectation[direction]];
      if (best >= usual * (1 - expectation.tolerance)) continue;
      const others =
        expectation.isOfKind === false ? "recorded GPUs over such a link" : "those of healthy machines";
      const where = devices.length === 1 ? "" : ` on device ${device.ordinal}`;
      return `${directionName[direction]} pinned copies reach ${formatGBps(best)} GB/s${where}, and ${others} ${formatGBps(usual)} GB/s: pinbench doctor says why.`;
    }
  }
  return null;
}

function isComparable(cell: CellResult, { ordinal }: DeviceRecord, direction: "h2d" | "d2h"): boolean {
  const { memory, mode, workers, sizeBytes } = cell;
  return (
    cell.device === ordinal &&
    cell.direction === direction &&
    memory === "pinned" &&
    mode === "throughput" &&
    workers === 1 &&
    sizeBytes >= leastReferenceBytes &&
    isPlain(cell)
  );
}

function ratesOf({ stats }: CellResult): number[] {
  return stats.map(({ bandwidthGBps }) => bandwidthGBps.median);
}

/** A link that trained down is expected to carry as much as its best speed. */
function expectationFor({ name, link }: DeviceRecord, emulated: boolean): Expectation | null {
  if (link === null) return null;
  const { generation, width, maxGeneration, maxWidth } = link;
  return expectationOf(
    { name, emulated },
    { generation: maxGeneration ?? generation, width: maxWidth ?? width },
  );
}
