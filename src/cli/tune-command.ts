import { type Command, Option } from "commander";
import { tuningFormats } from "../report/tuning/tuning-format-names.js";
import { addTuneOptions, type TuneFlags, tuneDefaults } from "./tune-options.js";

export function addTuneCommand(program: Command, version: string, setExitCode: (code: number) => void): void {
  const command = program
    .command("tune")
    .description("find num_workers, pin_memory and prefetch_factor for a training job's DataLoader")
    .addHelpText(
      "after",
      `
The data are your own Dataset in your own Python (--torch), or a model of a loader that needs no Python
(--sample-bytes, --data, or both: files that become samples of so many bytes).

Examples:
  pinbench tune --torch train_data.py:make_dataset --batch-size 64
  pinbench tune --torch train_data.py:loader --step-time 70ms     a DataLoader, beside a training step of 70 ms
  pinbench tune --data images/ --batch-size 64                    read the files of a folder
  pinbench tune --sample-bytes 588KiB --sample-cost 500us --batch-size 64
  export $(pinbench tune --torch train_data.py:make_dataset --batch-size 64 --format env)`,
    );
  addTuneOptions(command)
    .addOption(new Option("--format <name>", "what to print").choices(tuningFormats))
    .action(async (given: Partial<TuneFlags>) => {
      const { tuneLoader } = await import("./tune.js");
      setExitCode(await tuneLoader({ ...tuneDefaults, ...given }, version));
    });
}
