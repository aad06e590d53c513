import type { RepeatSettings } from "../results/repeat-settings.js";
import type { ResultDocument } from "../results/schema.js";
import { measureInFreshProcess } from "./fresh-process.js";

export interface RepeatRequest {
  cellIds: readonly string[];
  settings: RepeatSettings;
  runs: number;
  /** The program that measures, bin/pinbench.js. */
  entry: string;
}

/**
 * Measures the same cells in `runs` fresh processes, one after the other, and hands over each result as it comes;
 * `onResult` ends the series early with "stop". Ends early too when `signal` is aborted: the result that this cut
 * short is dropped. Rejects with the PinbenchError of a process that brought no result.
 */
export async function repeatInFreshProcesses(
  { cellIds, settings, runs, entry }: RepeatRequest,
  onResult: (document: ResultDocument, run: number) => "stop" | undefined,
  onStart: (run: number) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let run = 0; run < runs && !signal.aborted; ++run) {
    onStart(run);
    const document = await measureInFreshProcess(cellIds, settings, { entry, signal }).catch((error) => {
      // One that was cut short before it had anything to tell is dropped like any other.
      if (signal.aborted) return null;
      throw error;
    });
    if (document === null || signal.aborted || onResult(document, run) === "stop") return;
  }
}
