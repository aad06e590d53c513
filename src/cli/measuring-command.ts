import { ExitCode } from "../errors.js";
import type { DeviceSharing, MeasuringTurn } from "../host/device-sharing.js";
import type { DocumentOf, KnownDocument } from "../kinds/document-kinds.js";
import { shareDevices } from "../measure/prepare.js";
import { progressLine } from "../report/progress.js";
import type { BackendChoice } from "../settings/choices.js";
import type { DocumentName, FormatOf } from "../settings/document-formats.js";
import { backendFor, type Invocation } from "./asked-settings.js";
import { beginOnDevices, type TurnFlags } from "./device-turn.js";
import { Interruption, sayNothingMeasured } from "./interruption.js";
import { deliver, destinationsOf, documentDrawer } from "./output/document-output.js";
import { ProgressLine } from "./output/progress-line.js";
import type { DisplayFlags } from "./output/screens.js";
import { noter } from "./output/terminal.js";

/** The result of measuring. */
interface MeasuredDocument<Document> {
  document: Document;
  /** Whether it contains anything; if not, an interrupted one replaces no file. */
  saysSomething: boolean;
  /** The remaining work after the document is delivered. */
  finish?: () => unknown;
}

/** A command that measures in its own process and delivers one document. */
export interface MeasuringCommand<Name extends DocumentName, Prepared> {
  kind: Name;
  name: "doctor" | "explain" | "pin";
  prepare(backend: BackendChoice): Promise<Prepared>;
  /** Notes to print before measuring. */
  notes(prepared: Prepared): readonly string[];
  /** Resolves with null after an abort if there is nothing to deliver. */
  measure(
    turn: MeasuringTurn<Prepared> & { interruption: Interruption },
  ): Promise<MeasuredDocument<DocumentOf[Name]> | null>;
  exitCode(document: DocumentOf[Name]): ExitCode;
}

type MeasuringFlags<Name extends DocumentName> = TurnFlags &
  DisplayFlags & {
    backend: BackendChoice;
    json: boolean;
    format: FormatOf<Name> | null;
    output: readonly string[];
    plot?: boolean;
    debug: boolean;
  };

/**
 * Runs such a command: checks its files first, opens the devices and waits for them, measures, and frees the devices
 * before it delivers the document. Returns the exit code; throws PinbenchError.
 */
export async function runMeasuringCommand<
  Name extends DocumentName,
  Prepared extends Parameters<typeof shareDevices>[0],
>(
  flags: MeasuringFlags<Name>,
  invocation: Invocation,
  command: MeasuringCommand<Name, Prepared>,
): Promise<ExitCode> {
  const { call } = invocation;
  const { format, files } = await destinationsOf(command.kind, flags);
  const interruption = new Interruption();
  const { signal } = interruption;
  const ended = () => {
    sayNothingMeasured(flags.output);
    return interruption.exitCode ?? ExitCode.interrupted;
  };
  const line = new ProgressLine(flags);
  let sharing: DeviceSharing | null = null;
  try {
    const prepared = await interruption.unlessAborted(command.prepare(backendFor(flags, invocation)));
    if (prepared === null) return ended();
    for (const text of command.notes(prepared)) noter(flags)(text);
    sharing = shareDevices(prepared, { command: command.name, ownerPid: null });
    if (!(await beginOnDevices(sharing, flags, signal))) return ended();
    const mayWait = flags.wait || flags.waitAtMostNs !== null;
    const measured = await command.measure({
      ...{ prepared, sharing, interruption, signal },
      startedAt: call.startedAt,
      startedMs: call.startedMs,
      countedFromMs: mayWait ? performance.now() : call.startedMs,
      onActivity: (text, leftNs) =>
        line.update((columns) =>
          progressLine(
            { leftNs: leftNs ?? null, isMost: leftNs !== undefined, done: { text }, now: null, best: null },
            columns,
          ),
        ),
    });
    line.clear();
    // Others must not wait until the document has been read.
    await sharing?.release();
    if (measured === null) return ended();
    const { document, saysSomething, finish } = measured;
    // A program on stdout gets JSON even if there is nothing to show.
    const destinations = saysSomething
      ? { format, files }
      : { format: format === "json" ? format : null, files: [] };
    const known = { kind: command.kind, document } as unknown as KnownDocument;
    await deliver(await documentDrawer(known, flags), destinations, flags).finally(finish);
    return saysSomething ? (interruption.exitCode ?? command.exitCode(document)) : ended();
  } finally {
    line.clear();
    await sharing?.release();
    interruption.dispose();
  }
}
