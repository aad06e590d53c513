import { z } from "zod";
import { PinbenchError } from "../errors.js";
import { linkLimitGBps } from "../results/device-facts.js";
import { parseJson, readTextFile } from "../text-file.js";
import { type RecordedKind, recordedKinds } from "./recorded-kinds.js";

/*
 * The expected rate of a device over a link. A reference holds only for the recorded link: an L4 reaches 0.78 of gen3
 * x16, but 0.86 of gen4 x8, which carries as much. There is none for pageable memory, whose rate depends on the host's
 * CPU and memory, and differs by half between healthy machines.
 */

const share = z.number().positive().max(1);
const sharesSchema = z.object({ h2d: share, d2h: share });

/** Machines recorded by a site, which override pinbench's: shares of the link's limit, for any link. */
const siteReferenceSchema = z.object({
  listed: z.array(
    z.object({
      /** Name as reported by the driver. */
      gpu: z.string(),
      alone: sharesSchema,
      /** Rate of each GPU while this many GPUs of one machine copy at the same time; null if not recorded. */
      together: sharesSchema.extend({ devices: z.number().int().min(2) }).nullable(),
      tolerance: z.number().min(0.01).max(0.5),
      sources: z.array(z.string()).min(1),
      driver: z.string().nullable().optional(),
    }),
  ),
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

/** A link, such as the best that card and slot support together; null if unknown. */
export interface ReferenceLink {
  generation: number | null;
  width: number | null;
}

/** The rates of a healthy device, in decimal GB/s. */
export interface Expectation extends Pick<RecordedKind, "together" | "tolerance"> {
  h2d: number;
  d2h: number;
  /** Its source, as a clause for people. */
  source: string;
  /** The driver of the recorded machines, if a site's own reference names it. */
  driver?: string;
}

/** Tolerance for the emulated device, whose copies follow a clock. */
const emulatedTolerance = 0.1;

/** Rates of a healthy device of this name over this link; null if unknown, or if the GPU is shared by design. */
export function expectationOf(
  { name, emulated }: { name: string; emulated: boolean },
  link: ReferenceLink,
  site: SiteReference | null = null,
): Expectation | null {
  const limitGBps = linkLimitGBps(link.generation, link.width);
  if (limitGBps === null || isPartOfGpu(name)) return null;
  const own = site?.listed.find(({ gpu }) => gpu === name);
  if (own !== undefined) {
    const { alone, together, tolerance, sources, driver } = own;
    const rates = ({ h2d, d2h }: typeof alone) => ({ h2d: h2d * limitGBps, d2h: d2h * limitGBps });
    return {
      ...rates(alone),
      together: together && { devices: together.devices, ...rates(together) },
      tolerance,
      source: `this site's own recordings of the ${name} (${sources[0]})`,
      ...(driver != null && { driver }),
    };
  }
  if (emulated) {
    return {
      ...{ h2d: limitGBps, d2h: limitGBps, together: null, tolerance: emulatedTolerance },
      source: `the emulated link, PCIe gen${link.generation} x${link.width}`,
    };
  }
  const kind = kindOver(name, link);
  if (kind === undefined) return null;
  const { alone, together, tolerance, by, machines, recorded } = kind;
  const count = machines === 1 ? "one machine" : `${machines} machines`;
  return {
    ...{ ...alone, together, tolerance },
    source: `${by === "pinbench" ? "recordings" : `${by}' records of ${recorded[0]}`} of ${count} with the ${name}, PCIe gen${link.generation} x${link.width}`,
  };
}

function kindOver(name: string, { generation, width }: ReferenceLink): RecordedKind | undefined {
  return recordedKinds.find(
    ({ gpu, link }) => gpu === name && link.generation === generation && link.width === width,
  );
}

/**
 * The link to compare a GPU over if its slot cannot be seen: cloud slots may have fewer lanes than the card, and NVML
 * reports the card's. If such machines were recorded with the lanes in use, the slot has only these.
 */
export function linkOfSlot(
  name: string,
  best: ReferenceLink,
  { width }: Pick<ReferenceLink, "width">,
): ReferenceLink {
  return kindOver(name, { ...best, width }) === undefined ? best : { ...best, width };
}

/** The recorded link of this GPU; null if none or several were recorded. */
export function recordedLink(gpu: string): RecordedKind["link"] | null {
  const [kind, ...others] = recordedKinds.filter((one) => one.gpu === gpu);
  return kind === undefined || others.length > 0 ? null : kind.link;
}

/** Range of the shares of the link's limit that recorded kinds reach at this generation; null if there are none. */
export function usualShares(generation: number | null): { low: number; high: number } | null {
  const shares = recordedKinds.flatMap(({ link, alone: { h2d, d2h } }) => {
    const limitGBps = linkLimitGBps(link.generation, link.width);
    return link.generation !== generation || limitGBps === null ? [] : [h2d / limitGBps, d2h / limitGBps];
  });
  return shares.length === 0 ? null : { low: Math.min(...shares), high: Math.max(...shares) };
}

/** Whether a device is only a part of a GPU, and shares its copy engines and link. */
export function isPartOfGpu(name: string): boolean {
  return isInstance(name) || isVirtualGpu(name);
}

/** The name of a MIG instance: "NVIDIA H100 80GB HBM3 MIG 1g.10gb", or of a part of one, "MIG 1c.3g.40gb". */
export function isInstance(name: string): boolean {
  return / MIG (?:\d+c\.)?\d+g\.\d+gb/.test(name);
}

/** The name of a vGPU type: "NVIDIA A10-8Q", older ones "GRID T4-2B4" (NVIDIA's Virtual GPU Software User Guide). */
export function isVirtualGpu(name: string): boolean {
  return /-\d+[ABCQ]\d?(?:ME)?$/.test(name);
}
