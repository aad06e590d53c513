import { jsonReport } from "../../draw/json.js";
import { ExitCode } from "../../errors.js";
import { describeDevices } from "../../report/describe-devices.js";
import { devicesReport } from "../../report/devices-report.js";
import { checkWritable } from "../../results/files/store.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { listFormats } from "../../settings/document-formats.js";
import { deliver, outputFiles } from "../output/document-output.js";

export async function devicesCommand(flags: CommandSettings<"devices">): Promise<ExitCode> {
  const files = outputFiles(listFormats, flags.output);
  for (const { path } of files) await checkWritable(path);
  const report = await describeDevices(flags.backend);
  await deliver<keyof typeof listFormats>(
    (format, screen) => (format === "json" ? jsonReport(report) : devicesReport(report, screen)),
    { format: flags.json ? "json" : "table", files, flags: {} },
  );
  return ExitCode.ok;
}
