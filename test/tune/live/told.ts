import { torchDefault } from "../../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../../src/results/tuning.js";
import type { Member } from "../../../src/tune/live/live-job.js";
import type { HookMessage, HookMessageOf } from "../../../src/tune/live/live-messages.js";
import { LiveProbe } from "../../../src/tune/live/live-probe.js";
import { LoaderRecord } from "../../../src/tune/live/loader-record.js";
import type { ProbeFacts } from "../../../src/tune/loader-probe.js";

/** Messages of hooks, with times in milliseconds. */

export const ms = (value: number) => value * 1e6;

export function loaderOf({ loader = 1, epochBatches = null as number | null } = {}): LoaderRecord {
  return new LoaderRecord({
    ...{
      type: "loader",
      loader,
      setting: torchDefault,
      source: "Samples",
      name: "Samples, 4, 1a2b3c4d",
    },
    ...{ startMethod: "fork", epochBatches, framework: null },
  });
}

export const firstBatch = (loader = 1): HookMessageOf<"batch"> => ({
  type: "batch",
  loader,
  facts: {
    ...{
      device: null,
      runtime: "torch 2.0",
      batch: { samples: 4, bytes: 256, description: "float32 [4, 16]" },
    },
    ...{ pinningOff: null, workersOff: null, filesPerBatch: 1, fileLimit: null, filesInUse: null },
    place: { cpus: [0], memoryPolicy: null, pciBusId: null },
  },
});

export const epoch = (event: "begin" | "end", atMs: number): HookMessageOf<"epoch"> => ({
  ...{ type: "epoch", loader: 1, event, ns: ms(atMs) },
});

export const changed = (change: number, atMs: number): HookMessageOf<"changed"> => ({
  ...{ type: "changed", loader: 1, change, ns: ms(atMs) },
});

/** Batches at these times, each after a wait of `waitMs`. */
export const batches = (
  change: number,
  atMs: readonly number[],
  { waitMs = 1, grad = true } = {},
): HookMessageOf<"batches"> => ({
  ...{
    type: "batches",
    loader: 1,
    change,
    grad,
    made: atMs.length,
    ...{ makeNs: 0, collated: 0, collateNs: 0, handedOver: 0, handOverNs: 0 },
    workers: [],
  },
  ns: atMs.map(ms),
  waitNs: atMs.map(() => ms(waitMs)),
});

/** `count` times from `first` on, `step` apart. */
export const every = (step: number, first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first + index * step);

/** Asks for a setting, without waiting for a batch of it. */
export async function ask(probe: LiveProbe, setting: LoaderSetting): Promise<void> {
  const end = new AbortController();
  const trial = probe.measure(setting, { enough: () => false, signal: end.signal, timeoutNs: 1e9 });
  end.abort();
  await trial;
}

/** A rank of a job that is no process. */
interface ToldRank {
  rank: number;
  loader: LoaderRecord;
  member: Member;
}

interface ToldProbe {
  probe: LiveProbe;
  sent: object[][];
  ranks: ToldRank[];
  job: { fault: Error | null; onNews(member: Member, message: HookMessage | null): void };
  facts: Pick<ProbeFacts, "checks" | "workersOff" | "epochBatches" | "startingPoint">;
  arrivedMs: number[];
}

/**
 * A probe whose ranks have taken these numbers of batches, the commands that each rank gets, and its job, whose
 * news come from the test; `arrivedMs` has the times of the last batches.
 */
export function probeOf(...batches: number[]): ToldProbe {
  const sent = batches.map((): object[] => []);
  const arrivedMs: number[] = [];
  const ranks = batches.map((delivered, rank) => ({
    ...{
      rank,
      loader: {
        delivered,
        epochBatches: 1000,
        change: (number: number) => (number > 0 || arrivedMs.length === 0 ? null : { ns: arrivedMs.map(ms) }),
      },
    },
    member: { isConnected: true, send: (command: object) => sent[rank]!.push(command) },
  })) as unknown as ToldRank[];
  const job = {
    ...{
      over: new AbortController().signal,
      process: { exit: Promise.resolve() },
      fault: null as Error | null,
    },
    onNews: (_: Member, __: HookMessage | null): void => undefined,
  };
  const facts: ToldProbe["facts"] = {
    ...{ checks: [], workersOff: null, epochBatches: null, startingPoint: torchDefault },
  };
  const target = { job, ranks, loader: 1, facts };
  return { probe: new LiveProbe(target as never), sent, ranks, job, facts, arrivedMs };
}
