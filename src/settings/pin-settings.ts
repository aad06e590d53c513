import { poolWays } from "./choices.js";
import * as kind from "./kinds.js";
import { setting } from "./setting.js";
import { cellSettings, measuringSettings } from "./table.js";

/** What `pin` obtains, and how. Null values depend on the machine. */
export const pinSettings = {
  backend: cellSettings.backend,
  device: setting(
    "--device <number>",
    "the device that copies from the memory (0)",
    kind.count("device number", 0, 9999),
    { default: 0 },
  ),
  sizesBytes: setting(
    "--sizes <list>",
    "sizes of the pools, up to --max-pinned (1GiB,16GiB, as far as they fit)",
    kind.sizes,
  ),
  ways: setting("--ways <list>", `of ${poolWays.join(", ")} (all)`, kind.choicesOf("way", poolWays)),
  pieces: setting(
    "--pieces <list>",
    "allocations per pool: 1,4,16 (one, and one per thread)",
    kind.counts("pieces"),
  ),
  pieceSizesBytes: setting(
    "--piece-sizes <list>",
    "the same by the size of each: 64MiB,1GiB (with --stalls 64MiB,256MiB,1GiB)",
    kind.sizes,
  ),
  threads: setting(
    "--threads <list>",
    "threads that touch pages, or obtain pieces: 1,4,16 (one, and one per CPU)",
    kind.counts("threads"),
  ),
  stalls: kind.onDemand("--stalls", "also measure how long another process waits for its calls meanwhile"),
  processes: setting(
    "--processes <list>",
    "also let this many processes obtain the largest pool together: 2,4 (--numa all: on each node in turn)",
    kind.counts("processes"),
  ),
  maxPinnedBytes: {
    ...measuringSettings.maxPinnedBytes,
    help: "most memory to pin (half of the available memory)",
  },
  /** From the beginning of the command. */
  budgetNs: setting("--budget <time>", "time for all of it (60s)", kind.time, { default: 60e9 }),
  numa: measuringSettings.numa,
} as const;
