import type {
  LoadOptions,
  MeasureRequest,
  MeasureResult,
  NativeError,
  PinningKind,
} from "../../src/native/contract.js";
import { seeded } from "../helpers/seeded.js";
import { FakeSession, KiB, MiB, nativeError } from "./support.js";

/*
 * Sessions whose answers vary and fail by chance, the same in every run, by a clock that stands still but for them.
 */

export type Chance = ReturnType<typeof chanceOf>;

/** Random choices, of which `some` of a list are at least one. */
export function chanceOf(seed: number) {
  const random = seeded(seed);
  const some = <T>(of: readonly T[], probability = 0.5): T[] => {
    const kept = random.some(of, probability);
    return kept.length > 0 ? kept : [random.one(of)];
  };
  return { ...random, some };
}

/** What is played at the moment: its course of events, how often its calls fail, and after how many copies it is ended. */
export const stage = {
  course: [] as unknown[],
  chance: chanceOf(0),
  failing: 0,
  left: Number.POSITIVE_INFINITY,
  controller: new AbortController(),
};

const errors = [
  nativeError("CUDA_ERROR_OUT_OF_MEMORY"),
  nativeError("CUDA_ERROR_LAUNCH_FAILED"),
  nativeError("ABORTED"),
  nativeError("CUDA_ERROR_ECC_UNCORRECTABLE", true),
];

/** Fails some of the calls, mostly with an error that costs only what it was called for. */
export function failSome(call: string, share = 1): void {
  const { chance, failing } = stage;
  if (!chance.is(share * failing)) return;
  const error = chance.is(0.7) ? errors[chance.one([0, 1])]! : chance.one(errors);
  stage.course.push(`${call} fails: ${error.code}`);
  throw error;
}

export const elapsedNs = () => performance.now() * 1e6;

export class PlayedSession extends FakeSession {
  readonly #name: string;
  /** The last time that was measured. */
  #busyNs = [0, 0];

  constructor(name: string, device: number) {
    const { chance } = stage;
    const noise = chance.one([0, 0.002, 0.05, 0.4]);
    super(({ sizeBytes, memory, direction, pipeline }, _, timed) => {
      const GBps = (memory === "pageable" ? 12 : memory === "pinned" ? 50 : 25) / (1 + device / 4);
      const slower = timed === "d2h" ? 1.1 : direction === "p2p" ? 0.3 : 1;
      return (
        ((pipeline?.computeNs ?? 0) + 2000 + (slower * sizeBytes) / GBps) * (1 + noise * chance.uniform())
      );
    });
    this.#name = name;
    const kernelsOff = chance.is(0.15) ? `no kernels on ${device}` : null;
    const eventTimerOff = chance.is(0.15) ? `no events on ${device}` : null;
    Object.assign(this.opening, {
      contextNs: 1e6 * (device + 1 + chance.uniform()),
      kernelsOff,
      eventTimerOff,
    });
    Object.assign(this.opening, { openedAtNs: 1e6 * Math.floor(performance.now()) - 1000 * device });
    this.pinningCost = (kind, sizeBytes) => ({
      allocateNs: (kind === "pinned" ? 3 : 1) * sizeBytes * (0.1 + 0.2 * chance.uniform()),
      freeNs: sizeBytes * 0.1 * chance.uniform(),
      hugePageBytes: kind === "pinned" || chance.is(0.1) ? null : Math.floor(sizeBytes * chance.uniform()),
    });
    this.freeBytes = (chance.is(0.02) ? 100 : 80_000) * MiB;
  }

  note(call: string, ...args: unknown[]): void {
    stage.course.push([this.#name, call, ...args]);
  }

  override async measure({ company, peer, ...request }: MeasureRequest): Promise<MeasureResult> {
    const { chance, failing, controller } = stage;
    this.note("measure", request, company?.flow, company?.rendezvous.path, peer?.path);
    failSome("measure", 0.3);
    if (--stage.left === 0) controller.abort();
    const startNs = elapsedNs() - this.opening.openedAtNs;
    const result = await super.measure(request);
    this.#busyNs = [startNs, elapsedNs() - this.opening.openedAtNs];
    for (const column of result.columns) {
      let nextNs = startNs;
      for (const [i, ns] of column.durationNs.entries()) {
        column.startNs[i] = nextNs;
        nextNs += ns * (1 + (request.mode === "latency" ? (i % request.workers) / 10 : 0.1));
      }
    }
    const isWrong = chance.is(failing / 8);
    const mismatches = Array.from({ length: isWrong ? chance.one([1, 3, 9]) : 0 }, (_, i) => ({
      ...{ direction: result.columns.at(-1)!.direction, worker: i % (2 * request.workers) },
      ...{ offsetBytes: 512 * i, mismatchedBytes: 8 + i },
    }));
    const rest = { maxGeneration: 5, maxWidth: 16, smClockMHz: null, memoryClockMHz: null };
    const generation = chance.one([null, 3, 5]);
    const link = { generation, width: generation && chance.one([8, 16]), ...rest };
    return {
      ...result,
      verification: { ...result.verification, mismatches },
      link: request.readLink && chance.is(0.7) ? link : null,
      aborted: this.isAborted || chance.is(failing / 12),
      ...{ prepareNs: chance.uniform(), verifyNs: chance.uniform() },
    };
  }

  override async reserveHost(...args: unknown[]) {
    this.note("reserve", ...args);
    failSome("reserve");
    const { chance } = stage;
    return {
      ...{ bytes: MiB * chance.one([1, 2, 5]), allocateNs: 1, fillNs: 2 },
      hugePageBytes: chance.is(0.3) ? null : KiB * chance.one([0, 64, 512]),
      pagesOfNode: chance.some([0, 1]).map((node) => ({ node, pages: 10 + node })),
    };
  }

  override async reserveDevice(...args: unknown[]) {
    return this.reserveHost("device", ...args);
  }

  override async reserveStaging(...args: unknown[]) {
    return this.reserveHost("staging", ...args);
  }

  override async measurePinning(kind: PinningKind, sizeBytes: number) {
    failSome(`pin ${kind} ${sizeBytes}`, 0.5);
    return super.measurePinning(kind, sizeBytes);
  }

  override async measureFirstCopy() {
    return { durationNs: 1000 * (1 + stage.chance.uniform()) };
  }

  override async startLoad(options?: LoadOptions): Promise<never> {
    this.note("load", options);
    failSome("load");
    let doneNs = elapsedNs() - this.opening.openedAtNs;
    const completions = () => {
      failSome("completions", 0.2);
      const [nowNs, atNs] = [elapsedNs() - this.opening.openedAtNs, [] as number[]];
      for (;;) {
        const isBusy = doneNs >= this.#busyNs[0]! && doneNs < this.#busyNs[1]!;
        doneNs += isBusy ? 700_000 : 500_000;
        if (doneNs > nowNs) return { atNs: Float64Array.from(atNs), unitsEach: 1e6 };
        atNs.push(doneNs);
      }
    };
    const stop = async () => {
      this.note("stop");
      failSome("stop");
    };
    return { deviceBytes: 0, completions, stop } as never;
  }

  override memoryInfo() {
    this.freeBytes -= 40 * MiB * stage.chance.uniform();
    return super.memoryInfo();
  }

  override abort(): void {
    this.note("abort");
    super.abort();
  }

  override async close(): Promise<void> {
    this.note("close");
  }
}

/** A worker process whose session is in this one. */
export class PlayedProcess {
  failure: NativeError | null = null;
  readonly pid: number | null;
  readonly session: PlayedSession;

  constructor(_entry: string, { index, count }: { index: number; count: number }) {
    this.session = new PlayedSession(`process ${index} of ${count}`, index);
    this.pid = stage.chance.is(0.1) ? null : 100 + index;
  }

  async call(name: string, ...[first, second]: [unknown, unknown]) {
    const { session } = this;
    if (this.failure !== null) throw this.failure;
    try {
      if (name === "measure") {
        const [request, { path, flow }] = [first as MeasureRequest, second as { path: string; flow: number }];
        return await session.measure({ ...request, company: { flow, rendezvous: { path } as never } });
      }
      if (name !== "open") return await session.reserveHost(name, first, second);
      session.note("open", first);
      failSome("open");
      return session.opening;
    } catch (error) {
      if ((error as NativeError).sticky || stage.chance.is(0.3))
        this.fail(nativeError("CUDA_ERROR_ECC_UNCORRECTABLE"));
      throw error;
    }
  }

  fail(error: NativeError): void {
    this.failure = error;
  }

  abort(): void {
    this.session.abort();
  }

  async close(isOrderly: boolean): Promise<void> {
    this.session.note(`close ${isOrderly}`);
  }
}
