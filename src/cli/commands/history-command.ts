import { describeHistory } from "../../compare/history/courses.js";
import { ExitCode } from "../../errors.js";
import { packageVersion } from "../../package-facts.js";
import { historyPath, readHistory } from "../../results/files/history-file.js";
import { checkWritable } from "../../results/files/store.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { documentFormats } from "../../settings/document-formats.js";
import { chosenFormat, type Invocation } from "../asked-settings.js";
import { deliver, documentDrawer, outputFiles } from "../output/document-output.js";
import { keepInputs } from "../output/output-paths.js";

/** `pinbench history`: returns the exit code; throws PinbenchError. */
export async function historyCommand(
  flags: CommandSettings<"history">,
  { operands: [folder = ""] }: Invocation,
): Promise<ExitCode> {
  const format = chosenFormat(flags);
  const files = outputFiles(documentFormats.history, flags);
  const history = await readHistory(folder);
  await keepInputs(flags.output, [historyPath(folder)]);
  for (const { path } of files) await checkWritable(path);
  const document = describeHistory({ version: packageVersion(), path: folder, history, cells: flags.cells });
  const draw = await documentDrawer({ kind: "history", document }, flags);
  await deliver(draw, { format, files }, flags);
  return ExitCode.ok;
}
