import type { Command } from "commander";
import { addRunOptions, type RunFlags, withConfigured } from "./run-options.js";

export function addRunCommand(program: Command, version: string, setExitCode: (code: number) => void): void {
  const command = program
    .command("run")
    .description("measure copies between host and device, and print GB/s tables")
    .addHelpText(
      "after",
      `
Examples:
  pinbench run                                        the default sweep
  pinbench run --preset quick                         pageable against pinned, in a second
  pinbench run --sizes 1MiB..1GiB*4 --memory pinned   one kind, sizes of your own
  pinbench run --mode latency --sizes 4KiB            microseconds a copy
  pinbench run --json --output result.json            for programs, and kept`,
    );
  addRunOptions(command).action(async (given: RunFlags) => {
    const { loadConfig } = await import("./config.js");
    const { run } = await import("./run.js");
    const config = await loadConfig(given);
    setExitCode(await run(withConfigured(command, config.plan), version, config));
  });
}
