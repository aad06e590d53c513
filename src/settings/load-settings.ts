import * as kind from "./kinds.js";
import { setting } from "./setting.js";
import { cellSettings, measuringSettings } from "./table.js";

export const loadSettings = {
  backend: cellSettings.backend,
  device: setting("--device <list>", "the device to load to: one, such as 0 (0)", kind.oneDevice, {
    default: 0,
  }),
  makeBytes: setting("--make <size>", "make a file of this size, and remove it afterwards", kind.size),
  fileFolder: { ...measuringSettings.fileFolder, help: "where --make makes the file (the temporary folder)" },
  cold: kind.onDemand("--cold", "also read from storage; other readers of these files then wait for it too"),
  threads: setting(
    "--threads <list>",
    "threads that fill pinned slots (1, and one per CPU up to 8)",
    kind.counts("threads"),
  ),
  budgetNs: setting("--budget <time>", "time for passes beyond the first of each method (60s)", kind.time, {
    default: 60e9,
  }),
} as const;
