import { stat } from "node:fs/promises";
import { extname } from "node:path";
import { describeHistory } from "../compare/history/trends.js";
import { PinbenchError } from "../errors.js";
import { readStart } from "../host/files.js";
import { mergeProcesses } from "../measure/merge-processes.js";
import { packageVersion } from "../package-facts.js";
import { historyPath, readHistory, readHistoryFile } from "../results/files/history-file.js";
import { listRuns } from "../results/files/run-folder.js";
import { checkedResult, checkVersion, describePath, parseResult } from "../results/parse.js";
import type { ResultDocument } from "../results/schema.js";
import type { DocumentName } from "../settings/document-formats.js";
import { isObject, parseJson, readTextFile } from "../text-file.js";
import { type FoundDocument, isDocumentName, type KnownDocument, loadKind } from "./document-kinds.js";

const readable =
  "what a command of pinbench wrote with --output or printed with --json, a folder of runs, or a history";

/**
 * Reads JSON of pinbench: a document, a folder of runs, or a history's folder or file. A folder may hold
 * several documents. Rejects with a usage error that names the path and its fault.
 */
export async function readDocuments(path: string): Promise<FoundDocument[]> {
  const info = await stat(path).catch(() => null);
  const known = info?.isDirectory() ? await readFolder(path) : [await readFile(path)];
  return known.map((one) => ({ ...one, path }));
}

/**
 * The `kind` in the first 200 bytes of a file; null without one. Pipes are not read, because their text can
 * be read only once.
 */
export async function kindOfFile(path: string): Promise<DocumentName | null> {
  const info = await stat(path).catch(() => null);
  const start = info?.isFile() === true ? readStart("", path, 200) : null;
  const kind = /"kind":\s*"(\w+)"/.exec(start ?? "")?.[1];
  return isDocumentName(kind) ? kind : null;
}

async function readFile(path: string): Promise<KnownDocument> {
  // Other faults of the path are reported by reading it.
  if (extname(path) === ".jsonl") return historyOf(path, await readHistoryFile(path));
  return documentOf(parseJson(await readTextFile(path), path, `Give ${readable}.`), path);
}

async function readFolder(path: string): Promise<KnownDocument[]> {
  const isHistory = (await stat(historyPath(path)).catch(() => null)) !== null;
  if (isHistory) return [historyOf(path, await readHistory(path))];
  const runs: ResultDocument[] = [];
  for (const file of await listRuns(path)) runs.push(parseResult(await readTextFile(file), file));
  runs.sort((a, b) => a.run.startedAt.localeCompare(b.run.startedAt));
  return joined(runs).map((document) => ({ kind: "result", document }));
}

function historyOf(path: string, history: Awaited<ReturnType<typeof readHistory>>): KnownDocument {
  const document = describeHistory({ version: packageVersion(), path, history, cells: null });
  return { kind: "history", document };
}

/** Files that list folders and are no documents, and what to give instead. */
const folderLists: Readonly<Record<string, { what: string; hint: string }>> = {
  "fleet-run": {
    what: "the list of a folder of nodes' results",
    hint: "Give the folder to `pinbench fleet`.",
  },
  baseline: { what: "the list of a folder of runs", hint: "Give the folder." },
};

/** The document in a JSON value, by its `kind`; a result has none. */
async function documentOf(value: unknown, path: string): Promise<KnownDocument> {
  const kind = isObject(value) ? value.kind : undefined;
  if (isDocumentName(kind) && kind !== "result") {
    checkVersion(value, path);
    const parsed = (await loadKind(kind)).schema.safeParse(value);
    if (parsed.success) return { kind, document: parsed.data } as KnownDocument;
    const [issue] = parsed.error.issues;
    const where = issue === undefined ? "" : ` at ${describePath(issue.path)}: ${issue.message}`;
    throw new PinbenchError("usage", `${path} is not a valid ${kind} of pinbench${where}.`, {
      hint: "Give a file from pinbench, without changes.",
    });
  }
  const list = typeof kind === "string" && Object.hasOwn(folderLists, kind) ? folderLists[kind] : undefined;
  if (list !== undefined) throw new PinbenchError("usage", `${path} is ${list.what}.`, { hint: list.hint });
  if (isObject(value) && "nvbandwidth" in value) {
    throw new PinbenchError("usage", `${path} is a result of nvbandwidth.`, {
      hint: `\`pinbench import nvbandwidth ${path} --output old.json\` converts it.`,
    });
  }
  if (kind !== undefined || !isObject(value) || !("schemaVersion" in value)) {
    throw new PinbenchError("usage", `${path} is JSON, but not a document of pinbench.`, {
      hint: `Give ${readable}.`,
    });
  }
  return { kind: "result", document: checkedResult(value, path) };
}

/**
 * Joins a baseline's runs, which are fresh processes with the same cells, like those of `run --runs`: each cell has the
 * median of the medians, and the interval between them. Other runs are returned one by one.
 */
function joined(runs: readonly ResultDocument[]): readonly ResultDocument[] {
  const [first, ...others] = runs;
  const isAlone = (run: ResultDocument) => (run.run.runs ?? []).length === 0;
  const isComplete = (run: ResultDocument) => run.run.status === "complete" && run.devices.length > 0;
  const key = ({ backend, cells, fingerprint }: ResultDocument) =>
    JSON.stringify([backend, Object.entries(fingerprint).sort(), cells.map(({ id }) => id).sort()]);
  const areAlike = first !== undefined && others.length > 0 && others.every((run) => key(run) === key(first));
  if (!areAlike || !runs.every((run) => isAlone(run) && isComplete(run))) return runs;
  return [mergeProcesses(first, runs)];
}
