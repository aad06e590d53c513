import { ExitCode, PinbenchError } from "../../errors.js";
import { readDocuments } from "../../kinds/read-documents.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { documentFormats, formatNames } from "../../settings/document-formats.js";
import { chosenFormat, type Invocation } from "../asked-settings.js";
import { deliver } from "../output/delivery.js";
import { documentDrawer } from "../output/document-output.js";

/** `pinbench show`: prints documents as the commands did that made them. Returns the exit code; throws PinbenchError. */
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
      const { showsAll } = flags;
      await deliver(
        await documentDrawer({ kind, document } as Parameters<typeof documentDrawer>[0], {}, { showsAll }),
        { format, files: [] },
        flags,
      );
    }
  }
  return ExitCode.ok;
}
