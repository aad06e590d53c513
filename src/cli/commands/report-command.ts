import { spawn } from "node:child_process";
import { once } from "node:events";
import { lstat } from "node:fs/promises";
import { resolve } from "node:path";
import { ExitCode, errorCode, PinbenchError } from "../../errors.js";
import type { FoundDocument, KnownDocument } from "../../kinds/document-kinds.js";
import { readDocuments } from "../../kinds/read-documents.js";
import { checkWritable } from "../../results/files/store.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { documentFormats, formatNames, pictureFormats } from "../../settings/document-formats.js";
import { inheritedDescriptor, readTextFile } from "../../text-file.js";
import type { Invocation } from "../asked-settings.js";
import {
  chosenFormat,
  deliver,
  deliverDocument,
  drawPictures,
  type Output,
  outputFiles,
} from "../output/document-output.js";
import { keepInputs } from "../output/output-paths.js";
import { noter, writeStdout } from "../output/terminal.js";

const usualPath = "report.html";

/** `pinbench report`: returns the exit code; throws PinbenchError. */
export async function reportCommand(
  flags: CommandSettings<"report">,
  { operands }: Invocation,
): Promise<ExitCode> {
  const asked = outputFiles(pictureFormats, flags);
  const files: Output<keyof typeof pictureFormats>[] =
    asked.length > 0 ? asked : [{ path: usualPath, format: "html" }];
  const shown = flags.open ? files.find(({ path }) => inheritedDescriptor(path) === null) : undefined;
  await keepInputs(
    files.map(({ path }) => path),
    operands,
  );
  if (asked.length === 0) await keepForeignPage();
  for (const { path } of files) await checkWritable(path);
  const documents: FoundDocument[] = [];
  for (const path of operands) documents.push(...(await readDocuments(path)));

  // The code that compares results is loaded only for two documents.
  const difference =
    documents.length === 2 ? await (await import("../../kinds/difference.js")).differenceOf(documents) : null;
  const draw = (format: string) => drawPictures(documents, format, flags.chart, difference);
  await deliver(draw, { format: null, files, flags: {} });
  const paths = files.map(({ path }) => path).filter((path) => inheritedDescriptor(path) === null);
  // A document on stdout must not be followed by a line of ours.
  if (paths.length === files.length) await writeStdout(paths.map((path) => `${path}\n`).join(""));
  if (shown !== undefined) {
    const obstacle = await showInBrowser(shown.path);
    if (obstacle !== null)
      noter(flags)(`${shown.path} could not be opened: ${obstacle}. Open it in a browser.`);
  }
  return ExitCode.ok;
}

/**
 * If the user names no file, an existing file of the usual name must not be lost, and a link of that name must not be
 * followed: in a shared folder it may be another user's.
 */
async function keepForeignPage(): Promise<void> {
  if ((await lstat(usualPath).catch(() => null))?.isSymbolicLink()) {
    throw new PinbenchError(
      "output",
      `${usualPath} is a symbolic link, which pinbench follows only if it is named.`,
      {
        hint: `Give --output FILE.html; --output ${usualPath} follows the link.`,
      },
    );
  }
  const text = await readTextFile(usualPath).catch(() => null);
  if (text === null || text === "" || text.includes('<meta name="generator" content="pinbench ')) return;
  throw new PinbenchError("output", `${usualPath} already exists, and pinbench did not write it.`, {
    hint: `Give --output FILE.html; --output ${usualPath} replaces it.`,
  });
}

/** Opens a file with the desktop's program for it (xdg-utils of freedesktop.org). */
const opener = "xdg-open";

/**
 * Has the desktop show a file, without waiting. Resolves with the reason of a failure, as a clause; null if the opener
 * was started.
 */
async function showInBrowser(path: string): Promise<string | null> {
  // An absolute path, because one that begins with a hyphen would be taken for a flag.
  const child = spawn(opener, [resolve(path)], { detached: true, stdio: "ignore" });
  try {
    await once(child, "spawn");
  } catch (error) {
    return errorCode(error) === "ENOENT" ? `there is no ${opener} here` : `${opener} did not start`;
  }
  child.unref();
  return null;
}

/** `pinbench show`: prints documents like the commands that made them. Returns the exit code; throws PinbenchError. */
export async function showCommand(
  flags: CommandSettings<"show">,
  { operands }: Invocation,
): Promise<ExitCode> {
  const format = chosenFormat(flags);
  for (const path of operands) {
    for (const { kind, document } of await readDocuments(path)) {
      if (!Object.hasOwn(documentFormats[kind], format)) {
        throw new PinbenchError("usage", `${path} has no format ${format}.`, {
          hint: `Use one of ${formatNames(kind).join(", ")}.`,
        });
      }
      const known = { kind, document } as KnownDocument;
      await deliverDocument(known, { format, files: [], flags });
    }
  }
  return ExitCode.ok;
}
