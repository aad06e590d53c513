import * as kind from "./kinds.js";
import { setting } from "./setting.js";
import { cellSettings, measuringSettings } from "./table.js";

/** What `pin` allocates, and how. Nulls depend on the machine. */
export const pinSettings = {
  backend: cellSettings.backend,
  device: setting(
    "--device <list>",
    "the device that copies from the memory: one, such as 0 (0)",
    kind.oneDevice,
    { default: 0 },
  ),
  sizesBytes: setting(
    "--sizes <list>",
    "sizes of the pools, up to --max-pinned (1GiB,16GiB, as far as they fit)",
    kind.sizes,
  ),
  threads: setting(
    "--threads <list>",
    "threads that touch pages: 1,4,16 (one, and one per CPU)",
    kind.counts("threads"),
  ),
  stalls: kind.onDemand(
    "--stalls",
    "also measure how long launches and copies wait while another thread pins",
  ),
  maxPinnedBytes: {
    ...measuringSettings.maxPinnedBytes,
    help: "most memory to pin (half of the available memory)",
  },
  /** Counted from the start of the command. */
  budgetNs: setting("--budget <time>", "time for all of it (60s)", kind.time, { default: 60e9 }),
  numa: {
    ...measuringSettings.numa,
    help: "NUMA node to run on and take memory from: local (the GPU's) or a number (local)",
  },
} as const;
