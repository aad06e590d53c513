import { describeHistory } from "../../compare/history/trends.js";
import { ExitCode } from "../../errors.js";
import { packageVersion } from "../../package-facts.js";
import { historyPath, readHistory } from "../../results/files/history-file.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { deliverDocument, destinationsOf } from "../output/document-output.js";
import type { Invocation } from "../requested-settings.js";

export async function historyCommand(
  flags: CommandSettings<"history">,
  { operands: [folder = ""] }: Invocation,
): Promise<ExitCode> {
  const outputs = await destinationsOf("history", flags, [historyPath(folder)]);
  const history = await readHistory(folder);
  const document = describeHistory({ version: packageVersion(), path: folder, history, cells: flags.cells });
  await deliverDocument({ kind: "history", document }, outputs);
  return ExitCode.ok;
}
