import { z } from "zod";
import { PinbenchError } from "../errors.js";

/**
 * What `nvbandwidth -j` prints, as versions 0.5 to 0.9 do (NVIDIA/nvbandwidth, json_output.cpp): one object below
 * "nvbandwidth". Cells of a matrix are strings, GB/s as a C++ stream prints a double, "N/A" where nothing ran.
 *
 * Not recorded by any of them: buffer size, number of samples and copies, median or mean, date and command line, nor
 * since 0.9 whether host memory was given huge pages (-H). The
 * "CUDA Runtime Version" is what cuDriverGetVersion says (13000), as is pinbench's own CUDA version. The first
 * versions list no GPUs; a host's name is in the list since 0.8.
 */

const testcaseSchema = z.object({
  name: z.string(),
  /** "Passed", "Waived", "Running" (never finished), "Error", or "ERROR" for a name that it did not know. */
  status: z.string(),
  error: z.string().optional(),
  /** Of tests that have no counterpart it may be anything; the others' is checked when it is read. */
  bandwidth_matrix: z.unknown().optional(),
});

const resultSchema = z.object({
  version: z.string().optional(),
  "CUDA Runtime Version": z.number().int().positive().optional(),
  "Driver Version": z.string().optional(),
  "GPU Device list": z.array(z.string()).nullish(),
  error: z.string().optional(),
  /** The last warning; a list of them where several nodes ran. */
  warning: z.union([z.string(), z.array(z.string())]).optional(),
  testcases: z.array(testcaseSchema).optional(),
});

export type NvbandwidthResult = z.infer<typeof resultSchema>;
export type NvbandwidthTestcase = z.infer<typeof testcaseSchema>;

const saveHint = "Give a file that `nvbandwidth -j > FILE.json` wrote; newer versions say --format json.";

/** Reads nvbandwidth's JSON. `name` is what messages call it. Throws one PinbenchError (usage) if it is none. */
export function parseNvbandwidth(text: string, name: string): NvbandwidthResult {
  const value = parseJson(text, name);
  if (isObject(value) && "schemaVersion" in value) {
    throw unusable(name, "is a pinbench result already: it needs no import", "Use it as it is.");
  }
  if (!isObject(value) || !isObject(value.nvbandwidth)) {
    throw unusable(name, 'is JSON, but no result of nvbandwidth: it has no "nvbandwidth" object');
  }
  const parsed = resultSchema.safeParse(value.nvbandwidth);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = ["nvbandwidth", ...(issue?.path ?? [])].map(String).join(".");
    throw unusable(name, `is no valid result of nvbandwidth at ${where}: ${issue?.message ?? "invalid"}`);
  }
  if (parsed.data.error !== undefined) {
    const reason = oneLine(parsed.data.error);
    throw unusable(name, `records that nvbandwidth failed: ${reason}`, "Run nvbandwidth again.");
  }
  return parsed.data;
}

/** An error about a file of nvbandwidth: the file, what is wrong with it, and what to do. */
export function unusable(name: string, what: string, hint = saveHint, cause?: unknown): PinbenchError {
  return new PinbenchError("usage", `${name} ${what.replace(/\.$/, "")}.`, { hint, cause });
}

/** Text of another program as a part of a sentence: without line breaks, and no longer than one is read. */
export function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= 200 ? line : `${line.slice(0, 200)}…`;
}

function parseJson(text: string, name: string): unknown {
  if (text.trim() === "") throw unusable(name, "is empty");
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unusable(name, `is not JSON (${oneLine((cause as SyntaxError).message)})`, saveHint, cause);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
