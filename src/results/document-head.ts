import { z } from "zod";
import { packageVersion } from "../package-facts.js";
import { type BackendName, backendNames } from "../settings/choices.js";
import { count, linkSchema, nanoseconds } from "../settings/schema-parts.js";
import { noticeOf } from "./device-facts.js";

/** The first fields of the documents of `doctor`, `explain`, `pin` and `load`. */
export function headSchema<Kind extends string>(kind: Kind) {
  return {
    schemaVersion: z.literal(1),
    kind: z.literal(kind),
    tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
    createdAt: z.iso.datetime(),
    wallNs: nanoseconds,
    backend: z.enum(backendNames),
    /** Set for the emulated device: its figures do not describe a GPU. */
    notice: z.string().nullable(),
    host: z.string(),
  };
}

interface Head {
  createdAt: Date;
  wallNs: number;
  backend: BackendName;
  host: string;
}

export function headOf<Kind extends string>(kind: Kind, { createdAt, wallNs, backend, host }: Head) {
  return {
    schemaVersion: 1,
    kind,
    tool: { name: "pinbench", version: packageVersion() },
    createdAt: createdAt.toISOString(),
    ...{ wallNs, backend },
    notice: noticeOf(backend),
    host,
  } as const;
}

/** The only device of a document. */
export const deviceSchema = z.object({
  ordinal: count,
  name: z.string(),
  uuid: z.string().nullable(),
  pciBusId: z.string().nullable(),
  link: linkSchema.nullable(),
});
