import { PinbenchError } from "../errors.js";
import { type ResultDocument, resultSchema } from "./schema.js";

const knownVersion = 1;
const rerunHint = "Give a file that `pinbench run --output FILE.json` wrote.";

/**
 * Reads a result document. `name` is what messages call it, a path as a rule. Throws one PinbenchError (usage)
 * that names the first thing that is wrong.
 */
export function parseResult(text: string, name = "the result"): ResultDocument {
  const value = parseJson(text, name);
  checkVersion(value, name);
  const parsed = resultSchema.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const where = issue === undefined ? "" : ` at ${describePath(issue.path)}: ${issue.message}`;
    throw unusable(`${name} is not a valid pinbench result${where}.`);
  }
  checkCells(parsed.data, name);
  return parsed.data;
}

function parseJson(text: string, name: string): unknown {
  if (text.trim() === "") {
    throw unusable(`${name} is empty.`);
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The engine quotes the text around the fault, line breaks included.
    const reason = (cause as SyntaxError).message.replaceAll(/\s+/g, " ");
    throw unusable(`${name} is not JSON (${reason}).`, cause);
  }
}

function checkVersion(value: unknown, name: string): void {
  if (typeof value !== "object" || value === null || !("schemaVersion" in value)) {
    throw unusable(`${name} is JSON, but no pinbench result: it has no schemaVersion.`);
  }
  const { schemaVersion } = value;
  if (schemaVersion !== knownVersion) {
    throw new PinbenchError(
      "usage",
      `${name} has schemaVersion ${JSON.stringify(schemaVersion)}, and this pinbench reads version ${knownVersion}.`,
      { hint: "Read it with the pinbench that wrote it, or measure again." },
    );
  }
}

/** What the shape cannot say: ids are unique, and the columns of a cell's samples are equally long. */
function checkCells(document: ResultDocument, name: string): void {
  const ids = new Set<string>();
  for (const { id, samples } of document.cells) {
    if (ids.has(id)) {
      throw unusable(`${name} has the cell ${id} twice.`);
    }
    ids.add(id);
    for (const { direction, startNs, durationNs, round } of samples) {
      if (startNs.length !== durationNs.length || round.length !== durationNs.length) {
        throw unusable(`${name} has ${direction} samples of unequal columns in the cell ${id}.`);
      }
    }
  }
}

/** `["cells", 3, "samples"]` is written `cells[3].samples`. */
function describePath(path: readonly PropertyKey[]): string {
  if (path.length === 0) {
    return "the top";
  }
  return path
    .map((key, depth) => (typeof key === "number" ? `[${key}]` : `${depth === 0 ? "" : "."}${String(key)}`))
    .join("");
}

function unusable(message: string, cause?: unknown): PinbenchError {
  return new PinbenchError("usage", message, { hint: rerunHint, cause });
}
