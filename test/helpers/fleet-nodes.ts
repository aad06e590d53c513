import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { FleetManifest } from "../../src/fleet/fleet-manifest.js";
import { processesWith } from "./processes.js";
import { pinbench } from "./run-cli.js";

/** Nodes of a fleet on this machine, each with its own emulated device. */

/** A very short measurement for each node. */
export const smallCells = [
  ...["--backend", "emulated"],
  ...["--config", fileURLToPath(new URL("../fixtures/small-cells.json", import.meta.url))],
];

/** A node's fault: those of cuda/emulated/faults/faults.hpp, or its process is killed after its start. */
export type NodeFault = string;

/**
 * A program for `--pinbench` that gives these nodes these faults; it finds a node's name like pinbench. It is written
 * to `folder`.
 */
export function faultyNodes(folder: string, faults: Readonly<Record<string, NodeFault>>): string {
  const path = join(folder, "pinbench-on-nodes");
  const cases = Object.entries(faults).map(([name, fault]) =>
    fault === "crash"
      ? // It cannot end before it is killed: its first copy never ends.
        `${name}) export PINBENCH_EMULATED_FAULTS='h2d:never'; (until [ -e "$2/${name}.started" ]; do sleep 0.1; done; kill -9 $$) & ;;`
      : `${name}) export PINBENCH_EMULATED_FAULTS='${fault}' ;;`,
  );
  const lines = [
    "#!/bin/sh",
    `case "\${PINBENCH_NODE_NAME:-$SLURMD_NODENAME}" in`,
    ...cases,
    "esac",
    `exec '${process.execPath}' '${pinbench}' "$@"`,
    "",
  ];
  writeFileSync(path, lines.join("\n"));
  chmodSync(path, 0o755);
  return path;
}

/** The list of nodes in a fleet's folder. */
export function listOf(folder: string): FleetManifest {
  return JSON.parse(readFileSync(join(folder, "fleet-run.json"), "utf8")) as FleetManifest;
}

/** The outcome of each node. */
export function statesOf(folder: string): Record<string, string> {
  return Object.fromEntries(listOf(folder).nodes.map(({ host, state }) => [host, state]));
}

/** Waits until no process with the mark is left; fails after `seconds` and lists the rest. */
export async function untilNoneIsLeft(mark: string, seconds = 15): Promise<void> {
  const untilMs = performance.now() + seconds * 1000;
  while (processesWith(mark).length > 0 && performance.now() < untilMs) await sleep(100);
  expect(processesWith(mark)).toEqual([]);
}
