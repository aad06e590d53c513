import { type Command, Option } from "commander";
import { parseSize } from "../settings/units.js";

interface ImportFlags {
  output?: string;
  bufferSize?: number;
  quiet?: boolean;
}

const examples = `
Examples:
  pinbench import nvbandwidth nvbandwidth.json --output old.json   what nvbandwidth -j wrote
  pinbench compare old.json new.json                               against a run of pinbench's`;

export function addImportCommand(program: Command, version: string): void {
  const command = program
    .command("import")
    .description("turn another tool's result into one of pinbench's, so that a baseline is not lost")
    .addHelpText("after", examples);
  command
    .command("nvbandwidth")
    .description("the pinned copies and the device-local copy of what `nvbandwidth -j` wrote")
    .argument("<file>", "nvbandwidth's JSON")
    .option("--output <file.json>", "write a file instead of printing")
    .addOption(
      new Option(
        "--buffer-size <size>",
        "nvbandwidth's -b, which it does not record (default: its own)",
      ).argParser(parseSize),
    )
    .option("--quiet", "no notes on stderr")
    .option("--debug", "show where an error came from")
    .addHelpText("after", examples)
    .action(async (file: string, flags: ImportFlags) => {
      const { importFile } = await import("./import-file.js");
      await importFile(file, flags, version);
    });
}
