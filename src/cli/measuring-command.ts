import { ExitCode, exitCodeOf } from "../errors.js";
import type { DeviceSharing, MeasuringTurn } from "../host/device-sharing.js";
import type { DocumentOf, KnownDocument } from "../kinds/document-kinds.js";
import { shareDevices } from "../measure/prepare.js";
import { progressLine } from "../report/progress.js";
import type { DocumentName, FormatOf } from "../settings/document-formats.js";
import type { Call } from "../settings/settings.js";
import { beginOnDevices, type TurnFlags } from "./device-turn.js";
import { Interruption, sayNothingMeasured } from "./interruption.js";
import { type Destinations, deliverDocument } from "./output/document-output.js";
import { ProgressLine } from "./output/progress-line.js";
import { noter } from "./output/terminal.js";

interface MeasuredDocument<Document> {
  document: Document;
  /** Whether it has any content. If not, an interrupted command replaces no file. */
  saysSomething: boolean;
  finish?: () => unknown;
}

interface MeasuringCommand<Name extends DocumentName, Prepared> {
  kind: Name;
  name: "run" | "doctor" | "explain" | "pin" | "load";
  /** Time limit; absent without one. */
  limitNs?: number;
  prepare(): Promise<Prepared>;
  notes(prepared: Prepared): readonly string[];
  /** Resolves with null after an abort without anything to deliver. */
  measure(
    turn: MeasuringTurn<Prepared> & { interruption: Interruption; line: ProgressLine },
  ): Promise<MeasuredDocument<DocumentOf[Name]> | null>;
  exitCode(document: DocumentOf[Name]): ExitCode;
}

interface MeasuringRequest<Name extends DocumentName> {
  destinations: Destinations<FormatOf<Name>>;
  turn: TurnFlags;
  call: Call;
}

/**
 * Runs a command whose flags were checked: opens the devices, waits for them, measures, frees them, and only then
 * delivers the document. Returns the exit code; throws PinbenchError.
 */
export async function runMeasuringCommand<
  Name extends DocumentName,
  Prepared extends Parameters<typeof shareDevices>[0],
>(
  { destinations, turn, call }: MeasuringRequest<Name>,
  command: MeasuringCommand<Name, Prepared>,
): Promise<ExitCode> {
  const { format, files } = destinations;
  const interruption = new Interruption();
  const { signal } = interruption;
  const ended = () => {
    sayNothingMeasured(files.map(({ path }) => path));
    return interruption.exitCode ?? ExitCode.interrupted;
  };
  const line = new ProgressLine(turn);
  let sharing: DeviceSharing | null = null;
  try {
    const prepared = await interruption.unlessAborted(command.prepare());
    if (prepared === null) return ended();
    for (const text of command.notes(prepared)) noter(turn)(text);
    sharing = shareDevices(prepared, { command: command.name, ownerPid: null });
    if (!(await beginOnDevices(sharing, turn, signal))) return ended();
    const countedFromMs = turn.waitNs == null ? call.startedMs : performance.now();
    const measured = await command.measure({
      ...{ prepared, sharing, interruption, signal, line },
      startedAt: call.startedAt,
      startedMs: call.startedMs,
      countedFromMs,
      onActivity: (text) =>
        line.update((columns) => {
          const elapsedNs = (performance.now() - countedFromMs) * 1e6;
          return progressLine({ elapsedNs, limitNs: command.limitNs ?? null, done: { text } }, columns);
        }),
    });
    line.clear();
    // Releases the devices before the user reads the document, so that others need not wait.
    await sharing?.release();
    if (measured === null) return ended();
    const { document, saysSomething, finish } = measured;
    // A program that reads stdout gets JSON even for an empty document.
    const ofEmpty = { ...destinations, format: format === "json" ? format : null, files: [] };
    const known = { kind: command.kind, document } as unknown as KnownDocument;
    await deliverDocument(known, saysSomething ? destinations : ofEmpty).finally(finish);
    return saysSomething ? exitCodeOf(interruption.exitCode, command.exitCode(document)) : ended();
  } finally {
    line.clear();
    await sharing?.release();
    interruption.dispose();
  }
}
