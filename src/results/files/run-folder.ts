import { randomBytes } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { PinbenchError } from "../../errors.js";
import { cannotRead, readTextFile } from "../../text-file.js";
import { type FileLock, withFileLock } from "./file-lock.js";
import { makeFolder, removeEmptyFolders, unbroken } from "./made-folder.js";
import { reportingAs } from "./output-stream.js";
import { checkWritable, finalize, finalizeNamed, refuseLink } from "./store.js";

/**
 * A folder of runs, the form of a baseline. Those from pinbench have a list of their runs (baseline.json), which is
 * only replaced as a whole: whatever happens while a new baseline is written, the list names either all old runs or all
 * new ones. A folder without a list, put together by hand, consists of its *.json files. The runs that the first
 * replacement removes from the list stay in the folder, as the baseline's first level: many small losses, each within
 * the threshold, add up against it. Runs are written first, and then added to the list, under the folder's lock: if
 * several end at once they do so in turn, and nobody waits for another one's runs.
 */

const listName = "baseline.json";
const lockName = ".baseline.lock";

/** Names of files in the folder. */
const namesSchema = z
  .array(z.string().regex(/^[^/]*\.json$/))
  .min(1)
  .refine((names) => new Set(names).size === names.length);

const listSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("baseline"),
  runs: namesSchema,
  /** The first runs; absent while these are among `runs`. */
  begun: namesSchema.optional(),
});

type RunNames = Pick<z.infer<typeof listSchema>, "runs" | "begun">;

/** Paths of the runs in a folder, sorted by name. Throws a usage error if there are none. */
export async function listRuns(folder: string): Promise<string[]> {
  const runs = await listRunsIfAny(folder);
  if (runs.length > 0) return runs;
  throw new PinbenchError("usage", `${folder} is a folder without a result in it.`, {
    hint: "Give a file or folder that `pinbench run --output` or `pinbench baseline` wrote.",
  });
}

/** The same, but an empty list if there are none. */
export async function listRunsIfAny(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
    throw cannotRead(folder, cause);
  });
  // Reading a fifo would never end.
  const names = entries.filter((entry) => entry.isFile() || entry.isSymbolicLink()).map(({ name }) => name);
  const runs = names.includes(listName)
    ? (await readList(join(folder, listName))).runs
    : names.filter((name) => name.endsWith(".json") && !name.startsWith(".")).sort();
  return runs.map((name) => join(folder, name));
}

/** Paths of a folder's first runs, before any were replaced; null if none were. Throws like `listRuns`. */
export async function listBegunRuns(folder: string): Promise<string[] | null> {
  if (!(await reportingAs(folder, () => readdir(folder))).includes(listName)) return null;
  const { begun } = await readList(join(folder, listName));
  return begun?.map((name) => join(folder, name)) ?? null;
}

/**
 * Checks before measuring that `replaceRuns` and `appendRuns` will be able to write. Rejects with an "output"
 * PinbenchError.
 */
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
 * Makes `texts` (result documents as JSON) the runs of an empty or missing folder. Otherwise rejects with an "output"
 * PinbenchError and leaves nothing: someone else may use the folder by now.
 */
export async function createRuns(folder: string, texts: readonly string[]): Promise<void> {
  await unbroken(async () => {
    const made = await reportingAs(folder, () => makeFolder(folder));
    if ((await reportingAs(folder, () => readdir(folder))).length > 0) throw notEmpty(folder);
    await withNewRuns(folder, texts, async (names, lock) => {
      if (await hasList(folder)) throw notEmpty(folder);
      await writeList(folder, { runs: [...names] }, lock);
    }).catch(async (error: unknown) => {
      await removeEmptyFolders(made);
      throw error;
    });
  });
}

/**
 * Replaces the runs of a folder by `texts`: those in its list now, which may have changed since they were read, or
 * without a list those of `oldPaths`, which were read from it; no other file is touched. The first runs stay, unless it
 * `beginsAnew`. Resolves with the number of replaced runs. A crash leaves the old baseline intact, at most with stray
 * files. Rejects with an "output" PinbenchError, or like `listRuns`.
 */
export async function replaceRuns(
  folder: string,
  oldPaths: readonly string[],
  texts: readonly string[],
  { beginsAnew = false } = {},
): Promise<number> {
  return changeRuns(folder, oldPaths, texts, async ({ runs, begun = runs }, names, lock) => {
    await writeList(folder, { runs: [...names], ...(beginsAnew ? {} : { begun }) }, lock);
    const gone = new Set(beginsAnew ? [...runs, ...begun] : runs.filter((name) => !begun.includes(name)));
    // The new baseline is complete: an old run that cannot be removed does no harm, and one that another process has
    // put into its list must stay.
    for (const name of gone) {
      const isOurs = await lock.confirm().then(
        () => true,
        () => false,
      );
      if (isOurs) await rm(join(folder, name), { force: true }).catch(() => undefined);
    }
    return runs.length;
  });
}

/**
 * Adds `texts` to the current runs of a folder, which may have changed during measuring. A crash leaves the old
 * baseline intact, at most with stray files. Rejects with an "output" PinbenchError, or like `listRuns`.
 */
export async function appendRuns(folder: string, texts: readonly string[]): Promise<void> {
  await changeRuns(folder, null, texts, (old, names, lock) =>
    writeList(folder, { ...old, runs: [...old.runs, ...names] }, lock),
  );
}

const hasList = async (folder: string) => (await readdir(folder)).includes(listName);

/**
 * Writes `texts` as new files, and calls `change` with the names of the folder's runs and of these files while nobody
 * else changes the list; without a list its runs are `unlisted`, or all existing ones.
 */
async function changeRuns<T>(
  folder: string,
  unlisted: readonly string[] | null,
  texts: readonly string[],
  change: (old: RunNames, names: readonly string[], lock: FileLock) => Promise<T>,
): Promise<T> {
  return unbroken(async () => {
    // Without a list the folder would contain old and new files during the writing.
    if (!(await reportingAs(folder, () => hasList(folder)))) {
      await locked(folder, async (lock) => {
        if (await hasList(folder)) return;
        await writeList(folder, { runs: namesOf(unlisted ?? (await listRuns(folder))) }, lock);
      });
    }
    return withNewRuns(folder, texts, async (names, lock) =>
      change(await readList(join(folder, listName)), names, lock),
    );
  });
}

const namesOf = (paths: readonly string[]) => paths.map((path) => basename(path));

function locked<T>(folder: string, work: (lock: FileLock) => Promise<T>): Promise<T> {
  const lock = join(folder, lockName);
  return reportingAs(lock, () => withFileLock(lock, work));
}

/** Writes new files, and calls `work` with their names under the folder's lock; if that fails, none of them stays. */
async function withNewRuns<T>(
  folder: string,
  texts: readonly string[],
  work: (names: readonly string[], lock: FileLock) => Promise<T>,
): Promise<T> {
  const stamp = randomBytes(4).toString("hex");
  const names = texts.map((_, i) => `run-${stamp}-${String(i + 1).padStart(2, "0")}.json`);
  try {
    for (const [i, name] of names.entries()) await finalize(join(folder, name), texts[i]!);
    return await locked(folder, (lock) => work(names, lock));
  } catch (error) {
    // One that cannot be removed is in no list.
    for (const name of names) await rm(join(folder, name), { force: true }).catch(() => undefined);
    throw error;
  }
}

/** The "output" error for a folder that should be empty and is not. */
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

async function writeList(folder: string, names: RunNames, { confirm }: FileLock): Promise<void> {
  const list: z.infer<typeof listSchema> = { schemaVersion: 1, kind: "baseline", ...names };
  await finalizeNamed(join(folder, listName), `${JSON.stringify(list, null, 2)}\n`, confirm);
}
