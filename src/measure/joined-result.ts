import type { MeasureRequest, MeasureResult, SampleColumns } from "../native/contract.js";

/** What one worker process measured, and when its session's zero is, by the clock that all processes share. */
export interface WorkerResult {
  result: MeasureResult;
  openedAtNs: number;
}

/** The addon describes as many wrong buffers of a call. */
const mostMismatches = 8;

/**
 * One result of the processes that took the same samples together, in the order of workers, as if they had been threads
 * of a session that was opened at `openedAtNs`. Each has measured with one worker of its own.
 */
export function joinResults(
  request: Pick<MeasureRequest, "mode">,
  workers: readonly WorkerResult[],
  openedAtNs: number,
): MeasureResult {
  const results = workers.map(({ result }) => result);
  const aborted = results.some((result) => result.aborted);
  const of = (pick: (result: MeasureResult) => number) => Math.max(...results.map(pick));
  const sum = (key: "checkedBytes" | "copies" | "provenCopies") =>
    results.reduce((total, { verification }) => total + verification[key], 0);
  const mismatches = results.flatMap(({ verification }, worker) =>
    // The second direction of bidir is that of a session's second thread.
    verification.mismatches.map((one) => ({ ...one, worker: worker + one.worker * workers.length })),
  );
  return {
    columns: aborted
      ? []
      : results[0]!.columns.map((_, i) => joinColumns(request.mode === "latency", workers, i, openedAtNs)),
    verification: {
      checkedBytes: sum("checkedBytes"),
      mismatches: mismatches.slice(0, mostMismatches),
      copies: sum("copies"),
      provenCopies: sum("provenCopies"),
    },
    link: results.find(({ link }) => link !== null)?.link ?? null,
    aborted,
    prepareNs: of(({ prepareNs }) => prepareNs),
    verifyNs: of(({ verifyNs }) => verifyNs),
  };
}

/** Latency: each process' entry beside the others' of the sample. Throughput: from the first start to the last end. */
function joinColumns(
  isLatency: boolean,
  workers: readonly WorkerResult[],
  column: number,
  openedAtNs: number,
): SampleColumns {
  const columns = workers.map(({ result, openedAtNs: zeroNs }) => {
    const { startNs, durationNs } = result.columns[column]!;
    return { startNs: startNs.map((ns) => ns + zeroNs - openedAtNs), durationNs };
  });
  const { direction } = workers[0]!.result.columns[column]!;
  const samples = columns[0]!.startNs.length;
  if (isLatency) {
    const interleave = (pick: (column: (typeof columns)[number]) => Float64Array) =>
      Float64Array.from({ length: samples * columns.length }, (_, i) => {
        const values = pick(columns[i % columns.length]!);
        return values[Math.floor(i / columns.length)]!;
      });
    return {
      direction,
      startNs: interleave(({ startNs }) => startNs),
      durationNs: interleave(({ durationNs }) => durationNs),
    };
  }
  const startNs = Float64Array.from({ length: samples }, (_, sample) =>
    Math.min(...columns.map((one) => one.startNs[sample]!)),
  );
  const durationNs = startNs.map(
    (start, sample) =>
      Math.max(...columns.map((one) => one.startNs[sample]! + one.durationNs[sample]!)) - start,
  );
  return { direction, startNs, durationNs };
}
