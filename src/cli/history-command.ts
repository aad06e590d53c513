import { describeHistory } from "../compare/courses.js";
import { ExitCode } from "../errors.js";
import { packageVersion } from "../package-facts.js";
import { historyFormatOfPath, renderHistory } from "../report/history/history-report.js";
import { historyPath, readHistory } from "../results/history-file.js";
import { checkWritable } from "../results/store.js";
import type { HistoryFormat } from "../settings/choices.js";
import type { CommandSettings } from "../settings/command-settings.js";
import { chosenFormat, type Invocation } from "./asked-settings.js";
import { deliver } from "./delivery.js";
import { keepInputs } from "./output-paths.js";
import { outputFiles, withPictures } from "./picture-output.js";

/** `pinbench history`: returns the exit code; throws PinbenchError. */
export async function historyCommand(
  flags: CommandSettings<"history">,
  { operands: [folder = ""] }: Invocation,
): Promise<ExitCode> {
  const format = chosenFormat(flags);
  const files = outputFiles(flags, historyFormatOfPath);
  const history = await readHistory(folder);
  await keepInputs(flags.output, [historyPath(folder)]);
  for (const { path } of files) await checkWritable(path);
  const document = describeHistory({ version: packageVersion(), path: folder, history, cells: flags.cells });
  const render = withPictures(
    { kind: "history", path: null, document },
    flags,
    (asked: HistoryFormat, screen) => renderHistory(document, asked, screen),
  );
  await deliver(render, { format, files }, flags);
  return ExitCode.ok;
}
