import type { DeviceSharing } from "../host/device-sharing.js";
import { describeOther, describeSharing } from "../results/other-programs.js";
import { noter } from "./terminal.js";

/** What the flags say of devices that others use. */
export interface TurnFlags {
  wait: boolean;
  waitAtMostNs: number | null;
  quiet: boolean;
}

/**
 * Announces that this process uses the devices (null: nobody else can), with --wait once nobody else does, and says on
 * stderr who does. False where the signal came before; rejects with a PinbenchError where --wait-at-most is over.
 */
export async function beginOnDevices(
  sharing: DeviceSharing | null,
  { wait, waitAtMostNs, quiet }: TurnFlags,
  signal: AbortSignal,
): Promise<boolean> {
  if (sharing === null) return !signal.aborted;
  const note = noter({ quiet });
  if (wait || waitAtMostNs !== null) {
    return sharing.beginInTurn({ signal, mostNs: waitAtMostNs, onWait: note });
  }
  await sharing.begin();
  for (const { device, others, ...record } of sharing.records) {
    if (others.length > 0) {
      const names = others.map(describeOther).join(", ");
      note(
        `device ${device} is in use by ${names}: figures may be lower, and the result says so. --wait waits for it.`,
      );
    }
    for (const text of describeSharing({ device, others: [], ...record })) note(`${text}.`);
  }
  return !signal.aborted;
}
