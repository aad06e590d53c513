import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { listTickets } from "../../src/host/device-tickets.js";
import { emulatedFaults, endless, type Started, small, startCli, temporaryFolder } from "./run-cli.js";

/** Processes of pinbench that share an emulated device. */

/** The environment of processes that share one device, which no other test uses. */
export function sharedDevice(): Record<string, string> {
  return { PINBENCH_EMULATED_SHARED: join(temporaryFolder(), "device") };
}

/** A quick run of one cell. */
export const oneCell = ["--memory", "pinned", "--direction", "h2d"];

/** A run that keeps the device until it is ended, at the latest with the test. */
export async function startHolder(env: Record<string, string>, ...args: string[]): Promise<Started> {
  // The emulated device sleeps during slow copies, so this run leaves the CPUs to others.
  const slow = emulatedFaults("h2d:slow=1000");
  const holder = startCli(small(...oneCell, ...endless, "--json", ...args), { env: { ...env, ...slow } });
  await untilAnnounced(holder, "measuring");
  return holder;
}

/** Waits until a process has announced itself; throws if it ends first. */
export async function untilAnnounced({ child }: Started, as: "measuring" | "waiting"): Promise<void> {
  const isThere = () =>
    listTickets()!.some(({ pid, isWaiting }) => pid === child.pid && isWaiting === (as === "waiting"));
  while (!isThere()) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("the process has ended");
    await sleep(20);
  }
}
