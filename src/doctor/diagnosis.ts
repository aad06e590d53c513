import { z } from "zod";
import { headSchema } from "../results/document-head.js";
import { directionsMoved } from "../settings/choices.js";
import { count, ratio } from "../settings/schema-parts.js";

/**
 * The diagnosis document, `schemaVersion: 1`: `doctor` prints it with `--format json`, and all its other outputs are
 * made from it. schema/diagnosis-v1.json is generated from here (`npm run schema`). Rates are decimal GB/s; unknown
 * values are null.
 */

/**
 * The cost of a cause for copies: `measured` if an experiment without it was faster, otherwise computed from a limit.
 * The costs for one device's pinned copies add up to at most their loss.
 */
const costSchema = z.object({
  direction: z.enum([...directionsMoved, "both"]),
  /** A lower bound; for both directions, that of each. */
  gigabytesPerSecond: ratio,
  basis: z.enum(["measured", "estimated"]),
  /**
   * The affected copies: plain pinned ones (their median), single slow ones beyond the median, those from registered
   * memory, or those of all devices at once.
   */
  copies: z.enum(["pinned", "slow", "registered", "together"]).default("pinned"),
});

/** What automation should do with a node: take it out of use, reset the device, watch it, or nothing. */
const actionSchema = z.enum(["isolate", "reset", "monitor", "none"]);

/** One cause, with its evidence and what to do. */
const findingSchema = z.object({
  /** Its name, such as "link-narrow"; docs/doctor.md has a line for each. */
  cause: z.string(),
  /** The device's ordinal; null if the whole machine is affected. */
  device: count.nullable(),
  /**
   * `costs`: it costs bandwidth here. `risk`: it affects what was not measured, such as larger buffers or other users.
   * `explains`: it explains a figure, and nothing is wrong.
   */
  weight: z.enum(["costs", "risk", "explains"]),
  /** One sentence for people. */
  summary: z.string(),
  /** Facts that were read or measured, a line each. */
  evidence: z.array(z.string()).min(1),
  cost: costSchema.nullable(),
  /** One thing to do, in a sentence; null if there is nothing to do. */
  fix: z.string().nullable(),
  sureness: z.enum(["certain", "likely", "possible"]),
  action: actionSchema.default("none"),
});

/** One direction of a device's plain pinned copies, with the rate of healthy machines. */
const rateSchema = z.object({
  direction: z.enum(directionsMoved),
  /** Whether the other devices copied at the same time. */
  together: z.boolean(),
  gigabytesPerSecond: ratio.nullable(),
  /** Share of the link's limit; null if that is unknown. */
  shareOfLimit: ratio.nullable(),
  /** The rate of a healthy machine of this kind; null without a reference. */
  expectedGigabytesPerSecond: ratio.nullable(),
});

const deviceDiagnosisSchema = z.object({
  ordinal: count,
  name: z.string(),
  uuid: z.string().nullable(),
  pciBusId: z.string().nullable(),
  /** "PCIe gen5 x16" under load; null if unknown. */
  link: z.string().nullable(),
  limitGigabytesPerSecond: ratio.nullable(),
  /** The source of the expectation; null without one. */
  reference: z.string().nullable(),
  /** Copies whose rates count, and of these, how many were compared; absent if none was made. */
  copies: z
    .object({
      made: count,
      proven: count,
      /** Compared copies of the direction with fewer of them. */
      provenEachWay: count,
    })
    .optional(),
  rates: z.array(rateSchema),
});

/** The zod schema of the whole document. */
export const diagnosisSchema = z.object({
  ...headSchema("diagnosis"),
  sizeBytes: count,
  labels: z.record(z.string(), z.string()),
  devices: z.array(deviceDiagnosisSchema),
  /** Sorted: the most costly first, then risks, then explanations. */
  findings: z.array(findingSchema),
  /** What was not looked at, and why: "replay counters: NVML does not report them". */
  unseen: z.array(z.string()),
  /**
   * `no-reference`: no cause was found, and it is not known what healthy machines of the kind reach. `faulty`: nothing
   * costs bandwidth, but a finding asks to isolate the node or to reset a device.
   */
  verdict: z.enum(["healthy", "no-reference", "costs", "faulty", "inconclusive"]),
  /** One sentence for people: why this verdict. */
  reason: z.string(),
});

/** Whether a finding takes the node out of use, or asks to reset a device. */
export function isFaulty({ action }: Pick<Finding, "action">): boolean {
  return action === "isolate" || action === "reset";
}

/** The document of `doctor`. */
export type Diagnosis = z.infer<typeof diagnosisSchema>;
/** One cause. */
export type Finding = z.infer<typeof findingSchema>;

/** A finding before its action is known; some findings set it themselves. */
export type Found = Omit<Finding, "action"> & Partial<Pick<Finding, "action">>;
/** The action for a node. */
export type Action = z.infer<typeof actionSchema>;
/** The cost of a cause. */
export type Cost = z.infer<typeof costSchema>;

diagnosisSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:diagnosis-v1",
  title: "pinbench diagnosis, version 1",
  description: "What pinbench doctor found: causes with their evidence, what each costs, and what to do.",
});
