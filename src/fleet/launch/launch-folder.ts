import { link, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { errorCode, PinbenchError } from "../../errors.js";
import { cannotWrite } from "../../results/files/output-stream.js";
import { finalize } from "../../results/files/store.js";
import { labelsSchema, settingsSchema } from "../../results/schema.js";
import { count, nanoseconds } from "../../results/schema-parts.js";
import { checkShape, jsonValue, parseJson, readTextFile } from "../../text-file.js";

/**
 * The folder through which `fleet run` and the processes on the nodes speak, `.fleet-run` in that of the results: no
 * launcher has to carry more than its path. It has the order, what to measure, and of each node that it has started, and
 * how it ended. When the order is gone nobody waits for the nodes any more.
 */
export const launchFolderName = ".fleet-run";

const orderName = "order.json";

const orderSchema = z.object({
  schemaVersion: z.literal(1),
  /** What each node measures. */
  settings: settingsSchema,
  labels: labelsSchema,
  /** How long each node has, from its own start. */
  nodeDeadlineNs: nanoseconds.positive(),
});

/** What the nodes are to do. */
export type LaunchOrder = z.infer<typeof orderSchema>;

const startedSchema = z.object({
  host: z.string().min(1),
  /** Of the kernel: tells two processes on one node from two nodes of one name; null where /proc does not tell. */
  bootId: z.string().nullable(),
  /** Where Slurm started it: what to cancel, and all nodes that it starts. */
  slurm: z
    .object({
      jobId: z.string().regex(/^\d{1,20}$/),
      stepId: z
        .string()
        .regex(/^\d{1,20}$/)
        .nullable(),
      nodes: z.string().nullable(),
    })
    .nullable(),
});

/** What a node says when it begins. */
export type NodeStart = z.infer<typeof startedSchema>;

/** How a node that has begun can end, as it says itself. */
export const endStates = ["measured", "failed", "wrong data", "late"] as const;

const endedSchema = z.object({
  state: z.enum(endStates),
  reason: z.string().nullable(),
  /** The name of its result; null where there is none. */
  file: z.string().nullable(),
  wallNs: count,
});

/** What a node says when it has ended. */
export type NodeEnd = z.infer<typeof endedSchema>;

/** Makes the folder with its order, in a folder that is there. Rejects with an "output" PinbenchError. */
export async function createLaunchFolder(folder: string, order: LaunchOrder): Promise<void> {
  // Of two runs that were given one new folder at the same time one alone makes it.
  await mkdir(folder).catch((cause: unknown) => {
    if (errorCode(cause) !== "EEXIST") throw cannotWrite(folder, cause);
    throw new PinbenchError("output", `another fleet run uses ${dirname(folder)} already.`, {
      hint: "Choose a new folder: results of two runs would pass for those of one.",
      cause,
    });
  });
  await finalize(join(folder, orderName), JSON.stringify(order));
}

/** Removes the folder, order first, which ends the nodes that still run. Never rejects. */
export async function removeLaunchFolder(folder: string): Promise<void> {
  await rm(join(folder, orderName), { force: true }).catch(() => undefined);
  // Nodes that end at this moment may be writing.
  await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
}

/** The order, on a node. Rejects with a usage error where it is not there, or is none. */
export async function readOrder(folder: string): Promise<LaunchOrder> {
  const path = join(folder, orderName);
  const text = await readTextFile(path).catch((cause: unknown) => {
    throw new PinbenchError("usage", `cannot read ${path}, which lists what this node is to measure.`, {
      hint: "The folder of --output must be one that all nodes share, under the same path.",
      cause,
    });
  });
  const parsed = checkShape(orderSchema, parseJson(text, path));
  if (parsed.success) return parsed.data;
  throw new PinbenchError("usage", `${path} is of another version of pinbench.`, {
    hint: "Let --pinbench name the same version on the nodes.",
  });
}

/** Whether nobody waits for the nodes any more. A file system that fails for a moment does not say so. */
export async function isOrderGone(folder: string): Promise<boolean> {
  return readdir(folder).then(
    (names) => !names.includes(orderName),
    (error: unknown) => errorCode(error) === "ENOENT",
  );
}

/**
 * Takes a name for this node's files, which no other process has, and tells that it has begun; the name is that of the
 * host as far as file systems take it, with a number behind it where another node has the same. Null where this node has
 * one already: two that measure at the same time disturb each other. Rejects with an "output" PinbenchError.
 */
export async function claimNode(folder: string, start: NodeStart): Promise<string | null> {
  const plain = start.host.replace(/[^A-Za-z0-9._-]/g, "_").replace(/^\./, "_");
  const base = plain === "fleet-run" ? "fleet-run_" : plain.slice(0, 200);
  for (let number = 1; ; ++number) {
    const name = number === 1 ? base : `${base}-${number}`;
    const path = join(folder, `${name}.started`);
    const text = JSON.stringify({ ...start, host: number === 1 ? start.host : name });
    if (await writeFirst(path, text, start)) return name;
    const other = await readReport(path, startedSchema);
    if (other === null || other.bootId === null || other.bootId === start.bootId) return null;
  }
}

/** What file systems without hard links say. */
const withoutLinks: readonly (string | null)[] = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"];

/** Writes a file that is not there yet; false where another process was first. Rejects with an "output" PinbenchError. */
async function writeFirst(path: string, text: string, { bootId }: NodeStart): Promise<boolean> {
  const own = `${path}.${process.pid}.${bootId ?? "unknown"}`;
  try {
    await writeFile(own, text);
    // Whole or not at all, and by one alone, on shared file systems too.
    await link(own, path).catch((error: unknown) => {
      if (!withoutLinks.includes(errorCode(error))) throw error;
      return writeFile(path, text, { flag: "wx" });
    });
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw cannotWrite(path, error);
  } finally {
    await rm(own, { force: true }).catch(() => undefined);
  }
}

/** Tells that a node has ended, under the name that claimNode() gave. */
export async function writeNodeEnd(folder: string, name: string, end: NodeEnd): Promise<void> {
  await finalize(join(folder, `${name}.ended`), JSON.stringify(end));
}

/** What the nodes have told, each once. */
export class NodeReports {
  readonly folder: string;
  readonly started = new Map<string, NodeStart & { seenMs: number }>();
  readonly ended = new Map<string, NodeEnd>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Reads what is new. A file system that fails for a moment tells it the next time. */
  async refresh(): Promise<void> {
    const names = await readdir(this.folder).catch(() => []);
    for (const file of names) {
      const [, name, kind] = /^(.*)\.(started|ended)$/.exec(file) ?? [];
      if (name === undefined) continue;
      const path = join(this.folder, file);
      if (kind === "started" && !this.started.has(name)) {
        const start = await readReport(path, startedSchema);
        if (start !== null) this.started.set(name, { ...start, seenMs: performance.now() });
      }
      if (kind === "ended" && !this.ended.has(name)) {
        const end = await readReport(path, endedSchema);
        if (end !== null) this.ended.set(name, end);
      }
    }
  }
}

/** Null where it cannot be read, or is not what it should be. */
async function readReport<T>(path: string, schema: z.ZodType<T>): Promise<T | null> {
  const text = await readTextFile(path).catch(() => null);
  if (text === null) return null;
  try {
    return checkShape(schema, jsonValue(text)).data ?? null;
  } catch {
    return null;
  }
}
