import type { Command } from "commander";
import type { BackendChoice } from "../settings/choices.js";
import { backendOption } from "./run-options.js";

interface DevicesFlags {
  backend: BackendChoice;
  json?: boolean;
  color: boolean;
}

export function addDevicesCommand(program: Command, version: string): void {
  program
    .command("devices")
    .description("list devices, links and limits, and what this build and driver can do")
    .addOption(backendOption())
    .option("--json", "print JSON")
    .option("--no-color", "no colours")
    .option("--debug", "show where an error came from")
    .addHelpText(
      "after",
      `
Examples:
  pinbench devices                      what there is to measure here, and what cannot be
  pinbench devices --json               for programs
  pinbench devices --backend emulated   without a GPU`,
    )
    .action(async (flags: DevicesFlags) => {
      const { describeDevices } = await import("./describe-devices.js");
      const { devicesReport } = await import("../report/devices-report.js");
      const { jsonReport } = await import("../report/json.js");
      const { stdoutChalk } = await import("./colour.js");
      const { writeStdout } = await import("./stdout.js");
      const report = await describeDevices(flags.backend, version);
      await writeStdout(flags.json ? jsonReport(report) : devicesReport(report, stdoutChalk(flags)));
    });
}
