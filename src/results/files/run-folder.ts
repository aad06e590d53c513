import { randomBytes } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { PinbenchError } from "../../errors.js";
import { cannotRead, readTextFile } from "../../text-file.js";
import { withFileLock } from "./file-lock.js";
import { reportingAs } from "./output-stream.js";
import { checkWritable, finalize, finalizeNamed, makeFolder, refuseLink } from "./store.js";

/**
 * A folder of runs: the form of a baseline. pinbench lists its runs in baseline.json, and always replaces it
 * as a whole: a crash leaves either the old or the new list. A folder without a list, made by hand, has its
 * *.json files as runs. The first replacement keeps the old runs as the baseline's first level, because small
 * losses within the threshold add up over updates. A lock lets only one process change the folder.
 */

const listName = "baseline.json";
const lockName = ".baseline.lock";

const namesSchema = z
  .array(z.string().regex(/^[^/]*\.json$/))
  .min(1)
  .refine((names) => new Set(names).size === names.length);

const listSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("baseline"),
  runs: namesSchema,
  begun: namesSchema.optional(),
});

type RunNames = Pick<z.infer<typeof listSchema>, "runs" | "begun">;

/** Paths of a folder's runs, sorted by name. Throws a usage error if there are none. */
export async function listRuns(folder: string): Promise<string[]> {
  const runs = await listRunsIfAny(folder);
  if (runs.length > 0) return runs;
  throw new PinbenchError("usage", `${folder} is a folder without a result in it.`, {
    hint: "Give a file or folder that `pinbench run --output` or `pinbench baseline` wrote.",
  });
}

export async function listRunsIfAny(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
    throw cannotRead(folder, cause);
  });
  // Reading a named pipe would block forever.
  const names = entries.filter((entry) => entry.isFile() || entry.isSymbolicLink()).map(({ name }) => name);
  const runs = names.includes(listName)
    ? (await readList(join(folder, listName))).runs
    : names.filter((name) => name.endsWith(".json") && !name.startsWith(".")).sort();
  return runs.map((name) => join(folder, name));
}

/** Paths of the first runs, from before any update; null if there was no update. */
export async function listBegunRuns(folder: string): Promise<string[] | null> {
  if (!(await reportingAs(folder, () => readdir(folder))).includes(listName)) return null;
  const { begun } = await readList(join(folder, listName));
  return begun?.map((name) => join(folder, name)) ?? null;
}

/** Checks before measuring whether `replaceRuns` and `appendRuns` can write. Rejects with an "output" PinbenchError. */
export async function checkChangeable(path: string): Promise<void> {
  const info = await reportingAs(path, () => stat(path));
  if (!info.isDirectory()) {
    throw new PinbenchError(
      "output",
      `${path} is one result, and a baseline that takes new runs is a folder of several.`,
      {
        hint: "Make one with `pinbench baseline FOLDER`, and check against that.",
      },
    );
  }
  await refuseLink(join(path, listName));
  await checkWritable(join(path, listName));
}

/**
 * Writes `texts` (result documents as JSON) as the runs of an empty or missing folder. Rejects with an "output"
 * PinbenchError for any other folder, which somebody else may use by now.
 */
export async function createRuns(folder: string, texts: readonly string[]): Promise<void> {
  await makeFolder(folder);
  await locked(folder, async () => {
    if ((await readdir(folder)).some((name) => name !== lockName)) throw notEmpty(folder);
    await writeRuns(folder, texts, (runs) => writeList(folder, { runs }));
  });
}

/**
 * Replaces a folder's runs by `texts`. It replaces the runs now in the list, which may have changed since they were
 * read; without a list, `oldPaths`. Touches no other file, and keeps the first runs. Resolves with the number of
 * replaced runs. A crash leaves the old baseline intact, with at most stray files. Rejects with an "output"
 * PinbenchError, or like `listRuns`.
 */
export async function replaceRuns(
  folder: string,
  oldPaths: readonly string[],
  texts: readonly string[],
): Promise<number> {
  return changeRuns(folder, oldPaths, texts, async ({ runs, begun = runs }, names) => {
    await writeList(folder, { runs: names, begun });
    const gone = runs.filter((name) => !begun.includes(name));
    await removeRuns(folder, gone);
    return runs.length;
  });
}

/**
 * Adds `texts` to a folder's current runs, which may have changed during measuring. A crash leaves the old baseline
 * intact, with at most stray files. Rejects with an "output" PinbenchError, or like `listRuns`.
 */
export async function appendRuns(folder: string, texts: readonly string[]): Promise<void> {
  await changeRuns(folder, null, texts, (old, names) =>
    writeList(folder, { ...old, runs: [...old.runs, ...names] }),
  );
}

/**
 * Writes `texts` as new files, and calls `change` with the names of the folder's runs and of these files. In a folder
 * without a list, the runs are `unlisted`, or else all existing ones.
 */
function changeRuns<T>(
  folder: string,
  unlisted: readonly string[] | null,
  texts: readonly string[],
  change: (old: RunNames, names: string[]) => Promise<T>,
): Promise<T> {
  return locked(folder, async () => {
    // Makes a list first: without one, the folder would mix old and new files while they are written.
    if (!(await readdir(folder)).includes(listName)) {
      const runs = unlisted ?? (await listRuns(folder));
      await writeList(folder, { runs: runs.map((path) => basename(path)) });
    }
    const old = await readList(join(folder, listName));
    return writeRuns(folder, texts, (names) => change(old, names));
  });
}

function locked<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const lock = join(folder, lockName);
  return reportingAs(lock, () => withFileLock(lock, work));
}

/** Writes new files and calls `list` with their names. If that fails, removes them. */
async function writeRuns<T>(
  folder: string,
  texts: readonly string[],
  list: (names: string[]) => Promise<T>,
): Promise<T> {
  const stamp = randomBytes(4).toString("hex");
  const names = texts.map((_, i) => `run-${stamp}-${String(i + 1).padStart(2, "0")}.json`);
  try {
    for (const [i, name] of names.entries()) await finalize(join(folder, name), texts[i]!);
    return await list(names);
  } catch (error) {
    await removeRuns(folder, names);
    throw error;
  }
}

/** Ignores failures: a file that stays is in no list and does no harm. */
async function removeRuns(folder: string, names: readonly string[]): Promise<void> {
  for (const name of names) await rm(join(folder, name), { force: true }).catch(() => undefined);
}

export function notEmpty(folder: string, hint = "Choose a new folder."): PinbenchError {
  return new PinbenchError("output", `${folder} already exists and is not empty.`, { hint });
}

async function readList(path: string): Promise<RunNames> {
  await refuseLink(path);
  const text = await readTextFile(path);
  try {
    const parsed = listSchema.safeParse(JSON.parse(text));
    if (!parsed.success) throw parsed.error;
    const { runs, begun } = parsed.data;
    return { runs, ...(begun === undefined ? {} : { begun }) };
  } catch (cause) {
    throw new PinbenchError("usage", `${path} is no list of a baseline's runs.`, {
      hint: "Remove it to take every .json file of its folder as a run.",
      cause,
    });
  }
}

async function writeList(folder: string, names: RunNames): Promise<void> {
  const list: z.infer<typeof listSchema> = { schemaVersion: 1, kind: "baseline", ...names };
  await finalizeNamed(join(folder, listName), `${JSON.stringify(list, null, 2)}\n`);
}
