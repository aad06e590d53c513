import { readFileSync } from "node:fs";
import { z } from "zod";
import { formatGBps } from "../draw/numbers.js";
import { PinbenchError } from "../errors.js";
import type { CellResult } from "../results/cell-schema.js";
import { linkLimitGBps } from "../results/device-facts.js";
import { directionName } from "../results/naming/wording.js";
import type { DeviceRecord, ResultDocument } from "../results/schema.js";
import { isPlain } from "../results/variant.js";
import { MiB } from "../settings/units.js";
import { checkShape, parseJson, readTextFile } from "../text-file.js";

/*
 * What a device should reach, before it is measured: the payload that its link can carry, and the share of the link that
 * healthy machines fill. reference.json has the shares, as recordings of pinbench's own show them: of plain pinned copies
 * of 32 MiB and more by one worker, from buffers that no cache holds, over the link's limit without packet overhead.
 *
 * Tolerances. An H200's shares lie between 0.873 and 0.880 in all recordings: of two sizes, 45 processes of one machine
 * and three other machines on other days. 5 % is six times that range, so that a healthy machine is not called slow. Of
 * the H100 one machine was recorded: its tolerance is twice as wide. Where no machine with the GPU was recorded, the
 * shares are the lowest of those that were, and the tolerance is twice as wide again: older links fill less, as people
 * report of healthy machines, such as 0.77 for a P100 at generation 3 (12.15 GB/s, github.com/mpicbg-scicomp/gearshifft
 * pull request 82) and 0.79 for A100s at generation 4 (24.8 GB/s, NVIDIA's developer forum, topic 352186). One generation
 * or half of the lanes, the least of the usual faults, take 50 %. Copies from pageable memory have no reference: their
 * rate is that of the host's CPU and memory, which differ by half from one healthy machine to the next.
 */

const share = z.number().positive().max(1);
const sharesSchema = z.object({ h2d: share, d2h: share });
const entrySchema = z.object({
  alone: sharesSchema,
  /** Below it by more than this, relatively, copies are slow. */
  tolerance: z.number().min(0.01).max(0.5),
  /** The files of this repository that show it. */
  sources: z.array(z.string()).min(1),
});

const listedSchema = entrySchema.extend({
  /** As the driver gives it. */
  gpu: z.string(),
  /** Rate of each GPU while this many GPUs of one machine copy at the same time; null if not recorded. */
  together: sharesSchema.extend({ devices: z.number().int().min(2) }).nullable(),
});

/** The shape of reference.json. */
export const referenceSchema = z.object({
  /** With the link, the number of machines and the days of the recordings, which docs/machines.md shows. */
  listed: z.array(
    listedSchema.extend({
      link: z.object({ generation: z.number().int(), width: z.number().int() }),
      machines: z.number().int().min(1),
      recorded: z.array(z.iso.date()).min(1),
    }),
  ),
  /** Of any other GPU whose link is known. */
  byLink: entrySchema,
  /** Of an emulated device: its link is a clock, which copies keep to. */
  emulated: entrySchema,
});

/** A link as it should be: with the generation and the width that card and slot can do together. */
export interface HealthyLink {
  generation: number | null;
  width: number | null;
}

/** From this size on a copy takes as long as its bytes do: those of the recordings are no smaller. */
export const leastReferenceBytes = 32 * MiB;

/** What a healthy device reaches, in decimal GB/s. */
export interface Expectation {
  h2d: number;
  d2h: number;
  /** While so many GPUs of the machine copy; null where that was not recorded. More of them may share more of the way. */
  together: { devices: number; h2d: number; d2h: number } | null;
  /** How far below that it is still healthy: 0.05 is 5 %. */
  tolerance: number;
  /** Where it comes from, as a clause for people. */
  source: string;
  /** False where no device of this name was recorded: it is the share of their links that others fill. */
  isOfKind?: false;
}

type Reference = z.infer<typeof referenceSchema>;

/** Machines that a site has recorded itself: they go before those of pinbench's own. */
const siteReferenceSchema = z.object({ listed: z.array(listedSchema) });
export type SiteReference = z.infer<typeof siteReferenceSchema>;

/** Reads a site's own reference. Rejects with a usage error that names the file and what is wrong with it. */
export async function readSiteReference(path: string): Promise<SiteReference> {
  const hint = "Give a JSON file in the form that docs/doctor.md shows.";
  const parsed = checkShape(siteReferenceSchema, parseJson(await readTextFile(path), path, hint));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue === undefined ? "" : ` at ${issue.path.join(".")}: ${issue.message}`;
  throw new PinbenchError("usage", `${path} is not a reference of machines${where}.`, { hint });
}

let loaded: Reference | null = null;

/** Read when it is first asked for. */
function readReference(): Reference {
  loaded ??= referenceSchema.parse(
    JSON.parse(readFileSync(new URL("./reference.json", import.meta.url), "utf8")),
  );
  return loaded;
}

/**
 * How names of parts of a GPU end: "NVIDIA H100 80GB HBM3 MIG 1g.10gb" of a MIG instance, "NVIDIA A10-8Q" of what a
 * hypervisor gives to a guest (vGPU types of NVIDIA's Virtual GPU Software User Guide).
 */
const partOfGpu = / MIG \d+g\.\d+gb|-\d+[ABCQ](?:ME)?$/;

/** Whether a device of this name has a part of a GPU, and so of its copy engines and its link. */
export function isPartOfGpu(name: string): boolean {
  return partOfGpu.test(name);
}

/** What a healthy device of this name reaches over this link; null where the link is not known, or shared by its nature. */
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
    source: isOfClock
      ? `the emulated link, ${link}`
      : listed !== undefined
        ? `${own === undefined ? "recordings" : "this site's own recordings"} of an ${listed.gpu} (${sources[0]})`
        : `its link alone, ${link}: no ${device.name} was recorded, and other GPUs reach this share of their links (${sources[0]})`,
  };
}

/**
 * Bytes that PCIe adds to each packet of generations 1 to 5: 4 of framing and sequence number, 4 of LCRC, and a header of
 * 16, as writes to 64-bit addresses have it (PCI Express Base Specification 5.0, sections 2.2, 3.6 and 4.2).
 */
const packetOverheadBytes = 24;

/** From this generation on packets travel in flits, whose overhead is part of the lane's rate; headers remain. */
const firstFlitGeneration = 6;
const headerBytes = 16;

/**
 * What a link can carry of payload in one direction, in decimal GB/s: all of its bytes but, where the largest payload of
 * a packet is known, those of the packets' headers and checks. Acknowledgements and flow control are not subtracted. Null
 * where generation or width is not known.
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
 * A sentence that sends to `pinbench doctor`, where plain pinned copies of a run are slower than those of healthy
 * machines; null where they are not, or where it cannot be told.
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

/** One that trained down is expected to carry more than it can. */
function expectationFor({ name, link }: DeviceRecord, emulated: boolean): Expectation | null {
  if (link === null) return null;
  const { generation, width, maxGeneration, maxWidth } = link;
  return expectationOf(
    { name, emulated },
    { generation: maxGeneration ?? generation, width: maxWidth ?? width },
  );
}
