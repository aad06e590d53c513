import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { jsonReport } from "../../draw/json.js";
import { ExitCode, PinbenchError } from "../../errors.js";
import { packageVersion } from "../../package-facts.js";
import { checkWritable, finalize } from "../../results/files/store.js";
import { type Imported, importNvbandwidth } from "../../results/import-nvbandwidth.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { documentFormats, formatOfPath } from "../../settings/document-formats.js";
import { formatSize } from "../../settings/units.js";
import { cannotRead, readTextFile } from "../../text-file.js";
import { keepInputs } from "../output/output-paths.js";
import { noter, writeStdout } from "../output/terminal.js";
import type { Invocation } from "../requested-settings.js";

export async function importNvbandwidthCommand(
  flags: CommandSettings<"import nvbandwidth">,
  { operands: [path = ""] }: Invocation,
): Promise<ExitCode> {
  const text = await readTextFile(path);
  if (flags.output !== null) await checkOutput(flags.output, path);
  const { mtime } = await stat(path).catch((error: unknown) => {
    throw cannotRead(path, error);
  });
  const imported = importNvbandwidth(text, {
    path,
    fileName: basename(path),
    measuredAt: mtime,
    bufferSizeBytes: flags.bufferSizeBytes,
    runId: randomUUID(),
    pinbenchVersion: packageVersion(),
  });
  const json = jsonReport(imported.document);
  if (flags.output === null) await writeStdout(json);
  else await finalize(flags.output, json);
  for (const note of notesOn(imported)) noter(flags)(note);
  return ExitCode.ok;
}

/**
 * Refuses an output before importing: one that cannot be written, is not JSON, or would replace the input.
 */
async function checkOutput(output: string, path: string): Promise<void> {
  if (formatOfPath(documentFormats.result, output) !== "json") {
    throw new PinbenchError("usage", `${output} names another format, and an import writes JSON.`, {
      hint: "Choose a name that ends in .json.",
    });
  }
  await keepInputs([output], [path]);
  await checkWritable(output);
}

function notesOn({ document, bufferSizeBytes, isBufferSizeAssumed, leftOut }: Imported): string[] {
  const notes = [
    "an import has one figure a cell and no interval: it can be compared, and fleet places it by the reference and by similar GPUs alone.",
    `the run's time is that of the file, ${document.run.startedAt}: nvbandwidth records none.`,
  ];
  if (document.devices.length === 0)
    notes.push("the file lists no GPU, so fleet cannot place it: nvbandwidth 0.8 and later list them.");
  if (isBufferSizeAssumed) {
    const size = formatSize(bufferSizeBytes);
    notes.push(
      `the buffer size is assumed to be ${size}, nvbandwidth's default: its file records none. Give another with --buffer-size.`,
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
