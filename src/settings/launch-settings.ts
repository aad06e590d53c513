import * as kind from "./kinds.js";
import { setting } from "./setting.js";

/** How `fleet run` starts one process a node, and how long it waits for them. */
export const launchSettings = {
  nodes: setting(
    "--nodes <count|list>",
    "how many nodes, or which: 4, n01,n02 or, with Slurm, n[01-04]",
    kind.text,
  ),
  folder: setting("--output <folder>", "a new folder for the results, which all nodes share", kind.text),
  partition: setting("--partition <name>", "Slurm's partition", kind.text),
  account: setting("--account <name>", "Slurm's account", kind.text),
  srunOptions: setting(
    "--srun-options <flags>",
    "more flags for srun: '--gpus-per-node=8 --qos=high'",
    kind.text,
  ),
  launcher: setting(
    "--launcher <command>",
    "command that starts one process per node, instead of srun; {nodes} becomes the value of --nodes",
    kind.text,
    { excludes: ["partition", "account", "srunOptions"] },
  ),
  pinbench: setting(
    "--pinbench <command>",
    "command of pinbench on the nodes (this one's path): 'npx pinbench', or a bundle's path",
    kind.text,
  ),
  confirm: kind.onDemand("--confirm", "measure slow nodes again in fresh processes before reporting them"),
  nodeDeadlineNs: setting(
    "--node-deadline <time>",
    "how long a node may take from its own start (60s)",
    kind.time,
    { default: 60e9 },
  ),
} as const;
