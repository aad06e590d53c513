import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { errorCode, PinbenchError } from "../../errors.js";
import { cannotWrite } from "../../results/files/output-stream.js";
import { finalize } from "../../results/files/store.js";
import { labelsSchema, settingsSchema } from "../../results/schema.js";
import { count, nanoseconds } from "../../settings/schema-parts.js";
import { parseJson, readTextFile } from "../../text-file.js";

/**
 * The folder `.fleet-run` in the results' folder, through which `fleet run` and the processes on the nodes communicate:
 * launchers only pass its path. It holds the order (what to measure) and, for each node, a file written at its start
 * and one at its end. Nodes stop if the order is gone.
 */
export const launchFolderName = ".fleet-run";

const orderName = "order.json";

const orderSchema = z.object({
  schemaVersion: z.literal(1),
  settings: settingsSchema,
  labels: labelsSchema,
  /** Time limit of a node, from its own start. */
  nodeDeadlineNs: nanoseconds.positive(),
});

export type LaunchOrder = z.infer<typeof orderSchema>;

const startedSchema = z.object({ host: z.string().min(1) });

type NodeStart = z.infer<typeof startedSchema>;

/** How a node reports that it ended. */
export const endStates = ["measured", "failed", "wrong data", "late"] as const;

const endedSchema = z.object({
  state: z.enum(endStates),
  reason: z.string().nullable(),
  /** Name of its result file; null without one. */
  file: z.string().nullable(),
  wallNs: count,
});

export type NodeEnd = z.infer<typeof endedSchema>;

/** Creates the folder with its order, in an existing folder. Rejects with an "output" PinbenchError. */
export async function createLaunchFolder(folder: string, order: LaunchOrder): Promise<void> {
  await mkdir(folder).catch((cause: unknown) => {
    throw cannotWrite(folder, cause);
  });
  await finalize(join(folder, orderName), JSON.stringify(order));
}

/** Removes the folder, order first, so that running nodes end. Never rejects. */
export async function removeLaunchFolder(folder: string): Promise<void> {
  await rm(join(folder, orderName), { force: true }).catch(() => undefined);
  // Retries, because nodes may be writing their end.
  await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
}

/** Reads the order, on a node. Rejects with a usage error if it is missing or invalid. */
export async function readOrder(folder: string): Promise<LaunchOrder> {
  const path = join(folder, orderName);
  const text = await readTextFile(path).catch((cause: unknown) => {
    throw new PinbenchError("usage", `cannot read ${path}, which lists what this node is to measure.`, {
      hint: "The folder of --output must be one that all nodes share, under the same path.",
      cause,
    });
  });
  const parsed = orderSchema.safeParse(parseJson(text, path));
  if (parsed.success) return parsed.data;
  throw new PinbenchError("usage", `${path} is of another version of pinbench.`, {
    hint: "Let --pinbench name the same version on the nodes.",
  });
}

/** Whether the order was removed. Ignores temporary failures of the file system. */
export async function isOrderGone(folder: string): Promise<boolean> {
  return readdir(folder).then(
    (names) => !names.includes(orderName),
    (error: unknown) => errorCode(error) === "ENOENT",
  );
}

/**
 * Reports a node's start and returns the name of its files, derived from the host's. Null if a process with this name
 * has already started: two on a node would disturb each other. Rejects with a PinbenchError if it cannot write.
 */
export async function claimNode(folder: string, host: string): Promise<string | null> {
  const name = host
    .replace(/[^A-Za-z0-9._-]/g, "_")
    .replace(/^\./, "_")
    .slice(0, 200);
  const path = join(folder, `${name}.started`);
  try {
    await writeFile(path, JSON.stringify({ host }), { flag: "wx" });
    return name;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return null;
    throw cannotWrite(path, error);
  }
}

export async function writeNodeEnd(folder: string, name: string, end: NodeEnd): Promise<void> {
  await finalize(join(folder, `${name}.ended`), JSON.stringify(end));
}

export class NodeReports {
  readonly folder: string;
  readonly started = new Map<string, NodeStart & { foundMs: number }>();
  readonly ended = new Map<string, NodeEnd>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Reads new reports; retries next time after a temporary failure of the file system. */
  async refresh(): Promise<void> {
    const names = await readdir(this.folder).catch(() => []);
    for (const file of names) {
      const [, name, kind] = /^(.*)\.(started|ended)$/.exec(file) ?? [];
      if (name === undefined) continue;
      const path = join(this.folder, file);
      if (kind === "started" && !this.started.has(name)) {
        const start = await readReport(path, startedSchema);
        if (start !== null) this.started.set(name, { ...start, foundMs: performance.now() });
      }
      if (kind === "ended" && !this.ended.has(name)) {
        const end = await readReport(path, endedSchema);
        if (end !== null) this.ended.set(name, end);
      }
    }
  }
}

async function readReport<T>(path: string, schema: z.ZodType<T>): Promise<T | null> {
  const text = await readTextFile(path).catch(() => null);
  if (text === null) return null;
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
