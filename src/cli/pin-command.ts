import { setTimeout as sleep } from "node:timers/promises";
import { ExitCode } from "../errors.js";
import type { DeviceSharing } from "../host/device-sharing.js";
import { shareDevices } from "../measure/prepare.js";
import { PinMemory, preparePools } from "../pin/pin-memory.js";
import type { Pinning } from "../pin/pinning-document.js";
import { progressLine } from "../report/progress.js";
import { checkWritable } from "../results/store.js";
import type { CommandSettings } from "../settings/command-settings.js";
import { documentFormats } from "../settings/document-formats.js";
import { labelsOf } from "../settings/labels.js";
import { chosenFormat, type Invocation } from "./asked-settings.js";
import { deliver } from "./delivery.js";
import { beginOnDevices } from "./device-turn.js";
import { documentDrawer, outputFiles } from "./document-output.js";
import { aborted, Interruption, sayNothingMeasured } from "./interruption.js";
import { ProgressLine } from "./progress-line.js";
import { backendNotes } from "./run-command.js";
import { noter } from "./terminal.js";

/** How long an interrupted command may wait for the driver's call in flight before it tells what it has. */
const patienceMs = 1000;

/** `pinbench pin`: returns the exit code; throws PinbenchError. */
export async function pinCommand(flags: CommandSettings<"pin">, { call }: Invocation): Promise<ExitCode> {
  const format = chosenFormat(flags);
  const labels = labelsOf(flags.labels);
  const files = outputFiles(documentFormats.pinning, flags);
  for (const { path } of files) await checkWritable(path);
  const interruption = new Interruption();
  const { signal } = interruption;
  const note = noter(flags);
  const ended = () => {
    sayNothingMeasured(flags.output);
    return interruption.exitCode ?? ExitCode.interrupted;
  };
  const line = new ProgressLine(flags);
  let sharing: DeviceSharing | null = null;
  try {
    const prepared = await interruption.unlessAborted(preparePools(flags));
    if (prepared === null) return ended();
    for (const text of backendNotes(prepared)) note(text);
    const { backend, devices } = prepared;
    sharing = shareDevices({ backend, devices: [...devices] }, { command: "pin", ownerPid: null });
    if (!(await beginOnDevices(sharing, flags, signal))) return ended();
    const mayWait = flags.wait || flags.waitAtMostNs !== null;
    const pinning = new PinMemory({
      ...{ prepared, sharing, labels, signal },
      startedAt: call.startedAt,
      startedMs: call.startedMs,
      countedFromMs: mayWait ? performance.now() : call.startedMs,
      onActivity: (text, leftNs) =>
        line.update((columns) =>
          progressLine({ leftNs, isMost: true, done: { text }, now: null, best: null }, columns),
        ),
    });
    const measuring = pinning.measure();
    // One call of the driver may take seconds. Until it returns the process stays, and its memory is given back.
    await Promise.race([measuring, aborted(signal).then(() => sleep(patienceMs, null, { ref: false }))]);
    const document = pinning.document();
    line.clear();
    await sharing?.release();
    const isTold = document.status !== "aborted" || hasFindings(document);
    // A program that reads stdout is told in its own format, of nothing too.
    const destinations = isTold
      ? { format, files }
      : { format: format === "json" ? format : null, files: [] };
    await deliver(await documentDrawer({ kind: "pinning", document }, flags), destinations, flags);
    await measuring;
    if (!isTold) return ended();
    if (document.error !== null) noter({ quiet: false })(`The device failed: ${document.error.message}.`);
    return interruption.exitCode ?? exitCodeOf(document);
  } finally {
    line.clear();
    await sharing?.release();
    interruption.dispose();
  }
}

function hasFindings({ pools }: Pinning): boolean {
  return pools.some(({ outcome }) => outcome !== "omitted");
}

/** What is refused is an answer, unless everything is. */
function exitCodeOf({ error, pools }: Pinning): ExitCode {
  const isAnswered = error === null && pools.some(({ outcome }) => outcome === "measured");
  return isAnswered ? ExitCode.ok : ExitCode.measurement;
}
