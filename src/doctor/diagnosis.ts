import { z } from "zod";
import { count, nanoseconds, ratio } from "../results/schema-parts.js";
import { backendNames, directionsMoved } from "../settings/choices.js";

/**
 * The diagnosis document, `schemaVersion: 1`: what `doctor` prints with `--format json`, and what all its other outputs
 * are made from. schema/diagnosis-v1.json is generated from here (`npm run schema`). Rates are decimal GB/s; what is not
 * known is null.
 */

/**
 * What a cause costs copies; `measured` where an experiment without it was faster, else computed from a limit. The costs of
 * one device's pinned copies add up to at most what these lose.
 */
const costSchema = z.object({
  direction: z.enum([...directionsMoved, "both"]),
  /** At least; of both directions, each. */
  gigabytesPerSecond: ratio,
  basis: z.enum(["measured", "estimated"]),
  /**
   * Which copies: plain pinned ones, by their median; what single slow ones take beyond it; those from registered memory;
   * or those of all devices at once.
   */
  copies: z.enum(["pinned", "slow", "registered", "together"]).default("pinned"),
});

/** What automation should do with a node: take it out of use, reset the device, watch it, or nothing. */
const actionSchema = z.enum(["isolate", "reset", "monitor", "none"]);

/** One cause, with what speaks for it and what to do. */
const findingSchema = z.object({
  /** Its name, such as "link-narrow"; docs/doctor.md has a line for each. */
  cause: z.string(),
  /** The device's ordinal; null where it is the machine's. */
  device: count.nullable(),
  /**
   * `costs` bandwidth here; is a `risk` for what was not measured, such as larger buffers or other users; or `explains` a
   * figure with which nothing is wrong.
   */
  weight: z.enum(["costs", "risk", "explains"]),
  /** One sentence for people. */
  summary: z.string(),
  /** What was read or measured, a line each. */
  evidence: z.array(z.string()).min(1),
  cost: costSchema.nullable(),
  /** One thing to do, in a sentence; null where nothing is to be done. */
  fix: z.string().nullable(),
  sureness: z.enum(["certain", "likely", "possible"]),
  action: actionSchema.default("none"),
});

/** One direction of a device's plain pinned copies beside what healthy machines reach. */
const rateSchema = z.object({
  direction: z.enum(directionsMoved),
  /** While the other devices copied too. */
  together: z.boolean(),
  gigabytesPerSecond: ratio.nullable(),
  /** Of the link's payload limit; null where that is not known. */
  shareOfLimit: ratio.nullable(),
  /** What a healthy machine of this kind reaches; null where there is no reference for it. */
  expectedGigabytesPerSecond: ratio.nullable(),
});

const deviceDiagnosisSchema = z.object({
  ordinal: count,
  name: z.string(),
  uuid: z.string().nullable(),
  pciBusId: z.string().nullable(),
  /** "PCIe gen5 x16" under load; null where it is not known. */
  link: z.string().nullable(),
  limitGigabytesPerSecond: ratio.nullable(),
  /** Where the expectation comes from; null without one. */
  reference: z.string().nullable(),
  /** Whether that is of this kind of GPU; false for a share of the link that other kinds fill. */
  isOfKind: z.boolean().default(true),
  /** Copies whose rates count, and of these, how many were compared; absent from older documents. */
  copies: z.object({ made: count, proven: count }).optional(),
  rates: z.array(rateSchema),
});

/** The zod schema of the whole document. */
export const diagnosisSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("diagnosis"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  createdAt: z.iso.datetime(),
  wallNs: nanoseconds,
  backend: z.enum(backendNames),
  /** Set for the emulated device: its figures are no GPU's. */
  notice: z.string().nullable(),
  host: z.string(),
  /** Of each copy. */
  sizeBytes: count,
  /** `--label key=value`. */
  labels: z.record(z.string(), z.string()),
  devices: z.array(deviceDiagnosisSchema),
  /** What costs most first, then risks, then what only explains. */
  findings: z.array(findingSchema),
  /** What was not looked at, and why: "replay counters: NVML does not report them". */
  unseen: z.array(z.string()),
  /** `faulty`: nothing costs bandwidth, and yet a finding asks to isolate the node or to reset a device. */
  verdict: z.enum(["healthy", "costs", "faulty", "inconclusive"]),
  /** One sentence for people: why this verdict. */
  reason: z.string(),
});

/** What `doctor` says of a machine. */
export type Diagnosis = z.infer<typeof diagnosisSchema>;
/** One cause. */
export type Finding = z.infer<typeof findingSchema>;

/** A finding before it is known what to do with the node, but for those that say so. */
export type Found = Omit<Finding, "action"> & Partial<Pick<Finding, "action">>;
/** What to do with a node. */
export type Action = z.infer<typeof actionSchema>;
/** What a cause costs. */
export type Cost = z.infer<typeof costSchema>;

diagnosisSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:diagnosis-v1",
  title: "pinbench diagnosis, version 1",
  description: "What pinbench doctor found: causes with their evidence, what each costs, and what to do.",
});
