import { z } from "zod";
import { deviceSchema, headSchema } from "../results/document-head.js";
import { weightsWays } from "../settings/choices.js";
import { count, nanoseconds, ratio } from "../settings/schema-parts.js";

const waySchema = z.object({
  way: z.enum(weightsWays),
  /** Threads that fill slots; one thread copies a mapping. */
  threads: count,
  /** Whether the files were dropped from the page cache before each pass. */
  isCold: z.boolean(),
  passes: z.array(
    z.object({
      /** Time to map and register the files, and to undo both. */
      mapNs: nanoseconds,
      copyNs: nanoseconds,
      /** Bytes read from storage, as the system counts them. */
      storageBytes: count,
    }),
  ),
  /** Rates of the passes: all bytes over the time of mapping and copying; null without passes. */
  gigabytesPerSecond: z.object({ median: ratio, least: ratio, most: ratio }).nullable(),
  /** Why there are no passes, or no more; otherwise null. */
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
});

/**
 * The document of `pinbench load`, source of all its outputs; `--format json` prints it. schema/load-v1.json is
 * generated from here (`npm run schema`).
 */
export const loadSchema = z.object({
  ...headSchema("load"),
  status: z.enum(["complete", "aborted"]),
  device: deviceSchema,
  /** A file's pieces are the tensors of its safetensors header, or parts of 64 MiB. */
  files: z.array(z.object({ path: z.string(), bytes: count, isSafetensors: z.boolean() })),
  /** Bytes of all pieces, and of the first pieces, which each pass copies. */
  totalBytes: count,
  copiedBytes: count,
  pieces: z.object({ count, medianBytes: count }),
  ways: z.array(waySchema),
  verification: z.object({ checkedBytes: count, mismatchedBytes: count }),
  /** Other programs on the device, one sentence each. */
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
