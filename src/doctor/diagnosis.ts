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
 * The cost of a cause: `measured` by a faster experiment without it, or `estimated` from a limit. A device's costs for
 * pinned copies add up to at most their loss.
 */
const costSchema = z.object({
  direction: z.enum([...directionsMoved, "both"]),
  /** For "both": each direction loses at least this. */
  gigabytesPerSecond: ratio,
  basis: z.enum(["measured", "estimated"]),
  /**
   * The affected copies: plain pinned ones (median), single slow ones, those from registered memory, or those of all
   * devices at once.
   */
  copies: z.enum(["pinned", "slow", "registered", "together"]).default("pinned"),
});

/** Action for automation: take the node out of use, reset the device, watch the node, or nothing. */
const actionSchema = z.enum(["isolate", "reset", "monitor", "none"]);

const findingSchema = z.object({
  /** Name such as "link-narrow"; docs/doctor.md has a line for each. */
  cause: z.string(),
  /** The device's ordinal; null if the whole machine is affected. */
  device: count.nullable(),
  /**
   * `costs`: costs bandwidth here. `risk`: affects what was not measured, such as larger buffers or other users.
   * `explains`: explains a figure, and nothing is wrong.
   */
  weight: z.enum(["costs", "risk", "explains"]),
  summary: z.string(),
  /** Facts that were read or measured, a line each. */
  evidence: z.array(z.string()).min(1),
  cost: costSchema.nullable(),
  /** A sentence on what to do; null if nothing. */
  fix: z.string().nullable(),
  sureness: z.enum(["certain", "likely", "possible"]),
  action: actionSchema.default("none"),
});

const rateSchema = z.object({
  direction: z.enum(directionsMoved),
  /** Whether the other devices copied at the same time. */
  together: z.boolean(),
  gigabytesPerSecond: ratio.nullable(),
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
  reference: z.string().nullable(),
  /** Number of copies whose rates count, and of compared ones; absent without copies. */
  copies: z
    .object({
      made: count,
      proven: count,
      /** Compared copies in the direction with fewer of them. */
      provenEachWay: count,
    })
    .optional(),
  rates: z.array(rateSchema),
});

export const diagnosisSchema = z.object({
  ...headSchema("diagnosis"),
  sizeBytes: count,
  labels: z.record(z.string(), z.string()),
  devices: z.array(deviceDiagnosisSchema),
  /** Wrong data and unusable devices first, then the most costly, then risks, then explanations. */
  findings: z.array(findingSchema),
  /** What was not examined, and why: "replay counters: NVML does not report them". */
  unseen: z.array(z.string()),
  /**
   * `no-reference`: nothing is known to cost bandwidth, and the rate of healthy machines is unknown.
   * `faulty`: nothing costs bandwidth, but a finding asks to isolate the node or to reset a device.
   */
  verdict: z.enum(["healthy", "no-reference", "costs", "faulty", "inconclusive"]),
  /** Why this verdict, in one sentence. */
  reason: z.string(),
});

/** Whether a finding takes the node out of use, or asks to reset a device. */
export function isFaulty({ action }: Pick<Finding, "action">): boolean {
  return action === "isolate" || action === "reset";
}

export type Diagnosis = z.infer<typeof diagnosisSchema>;
export type Finding = z.infer<typeof findingSchema>;

/** A finding before its action is known, unless it has its own. */
export type Found = Omit<Finding, "action"> & Partial<Pick<Finding, "action">>;
export type Action = z.infer<typeof actionSchema>;
export type Cost = z.infer<typeof costSchema>;

diagnosisSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:diagnosis-v1",
  title: "pinbench diagnosis, version 1",
  description: "What pinbench doctor found: causes with their evidence, what each costs, and what to do.",
});
