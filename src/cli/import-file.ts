import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { PinbenchError } from "../errors.js";
import { cellId } from "../plan/cell.js";
import { jsonReport } from "../report/json.js";
import { formatOfPath } from "../report/result-formats.js";
import { type Imported, importNvbandwidth } from "../results/import-nvbandwidth.js";
import { checkWritable, finalize } from "../results/store.js";
import { formatSize } from "../settings/units.js";
import { readTextFile } from "../text-file.js";
import { keepInputs } from "./keep-inputs.js";
import { writeStdout } from "./stdout.js";

interface ImportFlags {
  output?: string;
  bufferSize?: number;
  quiet?: boolean;
}

/** `pinbench import nvbandwidth FILE`: reads, writes one document, says on stderr what it is not. */
export async function importFile(path: string, flags: ImportFlags, version: string): Promise<void> {
  const text = await readTextFile(path);
  if (flags.output !== undefined) await checkOutput(flags.output, path);
  const { mtime } = await stat(path);
  const imported = importNvbandwidth(text, {
    path,
    fileName: basename(path),
    measuredAt: mtime,
    bufferSizeBytes: flags.bufferSize ?? null,
    runId: randomUUID(),
    pinbenchVersion: version,
    cellId,
  });
  const json = jsonReport(imported.document);
  if (flags.output === undefined) await writeStdout(json);
  else await finalize(flags.output, json);
  if (!flags.quiet) {
    for (const note of notesOn(imported)) process.stderr.write(`pinbench: ${note}\n`);
  }
}

/** Found before anything is imported: what cannot be written, is no JSON, or is the only copy of the old baseline. */
async function checkOutput(output: string, path: string): Promise<void> {
  if (formatOfPath(output) !== "json") {
    throw new PinbenchError("usage", `${output} names another format, and an import writes JSON.`, {
      hint: "Choose a name that ends in .json.",
    });
  }
  await keepInputs([output], [path]);
  await checkWritable(output);
}

function notesOn({ document, bufferSizeBytes, isBufferSizeAssumed, leftOut }: Imported): string[] {
  const notes = [
    `the time of the run is the file's own, ${document.run.startedAt}: nvbandwidth records none.`,
  ];
  if (isBufferSizeAssumed) {
    const size = formatSize(bufferSizeBytes);
    notes.push(
      `the buffer size is taken to be ${size}, nvbandwidth's default: its file records none, and --buffer-size states it.`,
    );
  }
  if (leftOut.length > 0) {
    const byReason = new Map<string, string[]>();
    for (const { what, reason } of leftOut) byReason.set(reason, [...(byReason.get(reason) ?? []), what]);
    const parts = [...byReason].map(([reason, whats]) => `${whats.join(", ")} (${reason})`);
    notes.push(`left out: ${parts.join("; ")}.`);
  }
  return notes;
}
