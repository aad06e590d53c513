import { z } from "zod";
import { deviceSchema, headSchema } from "../results/document-head.js";
import { weightsWays } from "../settings/choices.js";
import { count, nanoseconds, ratio } from "../settings/schema-parts.js";

const waySchema = z.object({
  way: z.enum(weightsWays),
  /** Threads that fill slots; mappings are copied by one. */
  threads: count,
  /** Whether the files' pages were dropped from the page cache before each pass. */
  isCold: z.boolean(),
  passes: z.array(
    z.object({
      /** Mapping and registering the files, and undoing both. */
      mapNs: nanoseconds,
      copyNs: nanoseconds,
      /** What storage delivered, as the system counts it. */
      storageBytes: count,
    }),
  ),
  /** All bytes over the time of mapping and copying: of the passes; null without any. */
  gigabytesPerSecond: z.object({ median: ratio, least: ratio, most: ratio }).nullable(),
  /** Why there are no passes, or no more; null otherwise. */
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
});

/**
 * The document of `pinbench load`: printed with `--format json`, and the source of all its other outputs.
 * schema/load-v1.json is generated from here (`npm run schema`).
 */
export const loadSchema = z.object({
  ...headSchema("load"),
  /** `aborted`: it was interrupted. */
  status: z.enum(["complete", "aborted"]),
  device: deviceSchema,
  /** A file's pieces are the tensors of its safetensors header, or have 64 MiB. */
  files: z.array(z.object({ path: z.string(), bytes: count, isSafetensors: z.boolean() })),
  /** Bytes of all pieces, and of those that each pass copies, which are the first. */
  totalBytes: count,
  copiedBytes: count,
  pieces: z.object({ count, medianBytes: count }),
  ways: z.array(waySchema),
  verification: z.object({ checkedBytes: count, mismatchedBytes: count }),
  /** Other programs on the device, in sentences. */
  others: z.array(z.string()),
});

export type WeightsLoad = z.infer<typeof loadSchema>;
export type LoadedWay = z.infer<typeof waySchema>;

loadSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:load-v1",
  title: "pinbench load, version 1",
  description:
    "The result of pinbench load: how fast files get to the device, by each way of loading weights.",
});
