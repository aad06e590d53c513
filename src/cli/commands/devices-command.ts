import { jsonReport } from "../../draw/json.js";
import { ExitCode } from "../../errors.js";
import { describeDevices } from "../../report/describe-devices.js";
import { devicesReport } from "../../report/devices-report.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { stdoutScreen } from "../output/screens.js";
import { writeStdout } from "../output/terminal.js";

/** `pinbench devices`: lists the devices without opening one. Throws PinbenchError. */
export async function devicesCommand(flags: CommandSettings<"devices">): Promise<ExitCode> {
  const report = await describeDevices(flags.backend);
  await writeStdout(flags.json ? jsonReport(report) : devicesReport(report, stdoutScreen()));
  return ExitCode.ok;
}
