import { stat } from "node:fs/promises";
import { extname } from "node:path";
import type { ZodType } from "zod";
import { type Comparison, comparisonSchema } from "../compare/comparison.js";
import { describeHistory } from "../compare/courses.js";
import { type HistoryDocument, historySchema } from "../compare/history-document.js";
import { PinbenchError } from "../errors.js";
import { type FleetDocument, fleetSchema } from "../fleet/fleet-document.js";
import { packageVersion } from "../package-facts.js";
import { historyPath, readHistory, readHistoryFile } from "../results/history-file.js";
import { checkedResult, checkVersion, describePath, parseResult } from "../results/parse.js";
import { listRuns } from "../results/run-folder.js";
import type { ResultDocument } from "../results/schema.js";
import { type Tuning, tuningSchema } from "../results/tuning.js";
import { firstFaultOnly, isObject, parseJson, readTextFile } from "../text-file.js";

/** A document of pinbench's, or a folder of runs; `path` is where it was found, null where it was made just now. */
export type AnyDocument = { path: string | null } & (
  | { kind: "result"; document: ResultDocument }
  /** In the order in which they were measured. */
  | { kind: "runs"; documents: readonly ResultDocument[] }
  | { kind: "comparison"; document: Comparison }
  | { kind: "tuning"; document: Tuning }
  | { kind: "history"; document: HistoryDocument }
  | { kind: "fleet"; document: FleetDocument }
);

const readable =
  "a result of `pinbench run --output`, a folder of runs or a history, or what compare, check, tune, history and fleet print with --json";

/**
 * Reads what pinbench has written, of whatever kind: a document, a folder of runs, or a history's folder or file. Rejects
 * with a usage error that names the path, and what is wrong with it.
 */
export async function readAnyDocument(path: string): Promise<AnyDocument> {
  const info = await stat(path).catch(() => null);
  if (info?.isDirectory()) return readFolder(path);
  // Whatever else is wrong with the path, reading it says.
  if (extname(path) === ".jsonl") return historyOf(path, await readHistoryFile(path));
  const text = await readTextFile(path);
  return { path, ...documentOf(parseJson(text, path, `Give ${readable}.`), path) };
}

async function readFolder(path: string): Promise<AnyDocument> {
  const isHistory = (await stat(historyPath(path)).catch(() => null)) !== null;
  if (isHistory) return historyOf(path, await readHistory(path));
  const documents: ResultDocument[] = [];
  for (const file of await listRuns(path)) documents.push(parseResult(await readTextFile(file), file));
  documents.sort((a, b) => a.run.startedAt.localeCompare(b.run.startedAt));
  return { kind: "runs", path, documents };
}

function historyOf(path: string, history: Awaited<ReturnType<typeof readHistory>>): AnyDocument {
  return {
    kind: "history",
    path,
    document: describeHistory({ version: packageVersion(), path, history, cells: null }),
  };
}

/** What a value of JSON is by its `kind`; a result has none. */
function documentOf(value: unknown, path: string) {
  const kind = isObject(value) ? value.kind : undefined;
  switch (kind) {
    case "comparison":
      return { kind, document: checked(comparisonSchema, value, path, "comparison") } as const;
    case "tuning":
      return { kind, document: checked(tuningSchema, value, path, "tuning") } as const;
    case "history":
      return { kind, document: checked(historySchema, value, path, "history") } as const;
    case "fleet":
      return { kind, document: checked(fleetSchema, value, path, "fleet") } as const;
  }
  if (kind === "fleet-run") {
    throw new PinbenchError("usage", `${path} is the list of a folder of nodes' results.`, {
      hint: "`pinbench fleet` takes the folder.",
    });
  }
  if (kind === "baseline") {
    throw new PinbenchError("usage", `${path} is the list of a folder of runs.`, {
      hint: "Give the folder.",
    });
  }
  const command = isWithoutCharts(kind) ? withoutCharts[kind] : null;
  if (command !== null) {
    throw new PinbenchError("usage", `${path} is what pinbench ${command} found, which has no charts.`, {
      hint: `\`pinbench ${command} --format markdown\` makes a text to keep of it.`,
    });
  }
  if (isObject(value) && "nvbandwidth" in value) {
    throw new PinbenchError("usage", `${path} is nvbandwidth's.`, {
      hint: `\`pinbench import nvbandwidth ${path} --output old.json\` makes a result of it.`,
    });
  }
  if (kind !== undefined || !isObject(value) || !("schemaVersion" in value)) {
    throw new PinbenchError("usage", `${path} is JSON, but no document of pinbench's.`, {
      hint: `Give ${readable}.`,
    });
  }
  return { kind: "result", document: checkedResult(value, path) } as const;
}

/** Documents that no page is drawn of, and the commands that make them. */
const withoutCharts = { diagnosis: "doctor", explanation: "explain", pinning: "pin" } as const;

function isWithoutCharts(kind: unknown): kind is keyof typeof withoutCharts {
  return typeof kind === "string" && Object.hasOwn(withoutCharts, kind);
}

function checked<Document>(schema: ZodType<Document>, value: unknown, path: string, what: string): Document {
  checkVersion(value, path);
  const parsed = schema.safeParse(value, firstFaultOnly);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue === undefined ? "" : ` at ${describePath(issue.path)}: ${issue.message}`;
  throw new PinbenchError("usage", `${path} is not a valid ${what} of pinbench's${where}.`, {
    hint: "Give the file as pinbench wrote it.",
  });
}
