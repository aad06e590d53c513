import type { DeviceSharing } from "../host/device-sharing.js";
import { describeOther, describeSharing } from "../host/other-programs.js";
import { progressLine } from "../report/progress.js";
import { nowNs, ProgressLine } from "./output/progress-line.js";
import { noter } from "./output/terminal.js";

export interface TurnFlags {
  /** Null does not wait; absent if the command cannot wait. */
  waitNs?: number | "forever" | null;
  quiet: boolean;
}

/**
 * Announces this process on the devices (null: nobody else can use them), and names other users on stderr. With --wait,
 * first waits for them to finish. Returns false after a signal; rejects with a PinbenchError after --wait's time.
 */
export async function beginOnDevices(
  sharing: DeviceSharing | null,
  { waitNs, quiet }: TurnFlags,
  signal: AbortSignal,
): Promise<boolean> {
  if (sharing === null) return !signal.aborted;
  const note = noter({ quiet });
  if (waitNs != null) {
    return waitForTurn(sharing, {
      signal,
      mostNs: waitNs === "forever" ? null : waitNs,
      note,
      line: new ProgressLine({ quiet }),
    });
  }
  await sharing.begin();
  const advice = waitNs === undefined ? "" : " --wait waits for it.";
  for (const { device, others, ...record } of sharing.records) {
    if (others.length > 0) {
      const names = others.map(describeOther).join(", ");
      note(`device ${device} is in use by ${names}: figures may be lower, and the result says so.${advice}`);
    }
    for (const text of describeSharing({ device, others: [], ...record })) note(`${text}.`);
  }
  return !signal.aborted;
}

async function waitForTurn(
  sharing: DeviceSharing,
  {
    signal,
    mostNs,
    note,
    line,
  }: { signal: AbortSignal; mostNs: number | null; note: (text: string) => void; line: ProgressLine },
): Promise<boolean> {
  const startedNs = nowNs();
  const onWait = (text: string) => {
    line.clear();
    note(text);
    line.update((columns) => {
      const done = { text: "waiting for the device" };
      return progressLine({ elapsedNs: nowNs() - startedNs, limitNs: mostNs, done }, columns);
    });
  };
  try {
    return await sharing.beginInTurn({ signal, mostNs, onWait });
  } finally {
    line.clear();
  }
}
