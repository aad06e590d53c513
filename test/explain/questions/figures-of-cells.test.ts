import { expect, it } from "vitest";
import type { Question, RunRequest, Tools } from "../../../src/explain/question.js";
import { eightyOneTimes } from "../../../src/explain/questions/eighty-one-times.js";
import { lowLatency } from "../../../src/explain/questions/low-latency.js";
import { overlap } from "../../../src/explain/questions/overlap.js";
import { paysOff } from "../../../src/explain/questions/pays-off.js";
import { severalGpus } from "../../../src/explain/questions/several-gpus.js";
import { tooSmall } from "../../../src/explain/questions/too-small.js";
import { whyPinned } from "../../../src/explain/questions/why-pinned.js";
import type { NativeSession } from "../../../src/native/contract.js";
import type { PinningRecord, ResultDocument } from "../../../src/results/schema.js";
import { KiB, MiB } from "../../../src/settings/units.js";
import { buildCell, buildColdStart, buildDocument, type CellPart } from "../../helpers/result-document.js";

const sizeBytes = 64 * MiB;

/**
 * The figures of a question where the cells have 1 GB/s, 2 GB/s and so on, in their order. Of times, the rates of copies
 * of 64 MiB.
 */
async function ratesOf(question: Question, parts: readonly CellPart[]): Promise<number[]> {
  const cells = parts.map((part, i) =>
    buildCell({ sizeBytes, ...part, GBps: i + 1, result: { computeNs: 1e6 } }),
  );
  const figures = await figuresOf(question, cells);
  return figures.map(({ value, unit }) => Math.round(unit === "ns" ? sizeBytes / value : value));
}

/** A millisecond for each MiB of a pageable buffer, two of a pinned one and three of a registered one; and as much again. */
const session: Pick<NativeSession, "measurePinning"> = {
  measurePinning: async (kind, bytes) => {
    const ns = (1 + ["pageable", "pinned", "registered"].indexOf(kind)) * (bytes / MiB) * 1e6;
    return { allocateNs: ns, freeNs: ns, hugePageBytes: null };
  },
};

async function figuresOf(
  question: Question,
  cells: ReturnType<typeof buildCell>[],
  {
    measurePinning = session.measurePinning,
    coldStart = [] as ResultDocument["coldStart"],
    signal = new AbortController().signal,
  } = {},
) {
  const tools: Partial<Tools> = {
    devices: [0, 1].map((ordinal) => ({ ordinal })) as Tools["devices"],
    run: async () => buildDocument({ cells, coldStart }),
    inSession: (work) => work({ measurePinning } as NativeSession),
    onActivity: () => undefined,
    signal,
    commandFor: () => "",
  };
  return (await question.answer(tools as Tools)).figures;
}

const memories = ["pageable", "pinned"] as const;

it("several-gpus has the rates of each device, alone and together", async () => {
  const together = [0, 1];
  const parts = together.flatMap((device) =>
    memories.flatMap((memory) => [
      { device, memory, together },
      { device, memory },
    ]),
  );
  expect((await ratesOf(severalGpus, parts)).slice(0, 8)).toEqual([4, 3, 2, 1, 8, 7, 6, 5]);
});

it("several-gpus measures all devices at once, and nothing where there are none", async () => {
  const asked: RunRequest[] = [];
  const run = async (request: RunRequest) => {
    asked.push(request);
    throw new Error("enough");
  };
  const answerOn = (ordinals: number[]) => {
    const tools = { devices: ordinals.map((ordinal) => ({ ordinal })), run, backend: { name: "cuda" } };
    return severalGpus.answer({ ...tools, torch: { python: "python3" } } as unknown as Tools);
  };
  await expect(answerOn([0, 3])).rejects.toThrow("enough");
  expect(asked).toMatchObject([{ devices: [0, 3], together: true }]);
  expect((await answerOn([])).sentences).toEqual([
    "There is no device here, and the claim is about several.",
  ]);
});

it("why-pinned has the rate of each kind of memory", async () => {
  const parts = (["host", "pinned", "staged", "pageable"] as const).map((memory) => ({ memory }));
  expect((await ratesOf(whyPinned, parts)).slice(0, 4)).toEqual([4, 1, 3, 2]);
});

it("overlap has the copy, and its pipelines of one chunk and of eight, of each kind of memory", async () => {
  const parts = memories.flatMap((memory) => [{ memory, chunks: 8 }, { memory, chunks: 1 }, { memory }]);
  const rates = await ratesOf(overlap, parts);
  expect([...rates.slice(0, 3), ...rates.slice(4, 7)]).toEqual([6, 5, 4, 3, 2, 1]);
});

it("too-small has what pinning saves at each size", async () => {
  const cells = [16 * MiB, 4 * MiB, MiB, 128 * KiB].flatMap((sizeBytes, i) =>
    memories.map((memory) => {
      const us = memory === "pinned" ? 100 : 200 + i;
      return buildCell({ memory, sizeBytes, mode: "latency", GBps: 1, latencyUs: { median: us, p99: us } });
    }),
  );
  const figures = await figuresOf(tooSmall, cells);
  expect(figures.map(({ value }) => value / 1e3)).toEqual([203, 100, 103, 102, 101, 100]);
});

it("low-latency has the median and the slowest copies of each way, and what a new buffer takes", async () => {
  const sizeBytes = 3 * 224 * 224 * 4;
  const cells = (["staged", "pageable", "pinned"] as const).map((memory, i) =>
    buildCell({
      ...{ memory, sizeBytes, mode: "latency", GBps: 1 },
      latencyUs: { median: 10 + i, p99: 20 + i },
    }),
  );
  const cost = (us: number) => ({ allocateNs: us * 1e3, freeNs: 1e3, hugePageBytes: null });
  const pinning = [64 * MiB, sizeBytes].map((bytes, i) => ({
    ...{ sizeBytes: bytes, pageable: cost(5), pinned: cost(30 + i), registered: cost(50), repetitions: 7 },
    ...{ h2dSavedNs: null, d2hSavedNs: null },
  }));
  const figuresWith = (changes: Partial<PinningRecord>) => {
    const coldStart = [buildColdStart({ pinning: pinning.map((one) => ({ ...one, ...changes })) })];
    return figuresOf(lowLatency, cells, { coldStart });
  };
  const figures = await figuresWith({});
  const times = figures.filter(({ unit }) => unit === "ns").map(({ value }) => value / 1e3);
  expect(times).toEqual([11, 21, 12, 22, 10, 20, 32]);
  expect(figures.at(-1)!.samples).toBe(7);
  // The driver gave none.
  expect(await figuresWith({ pinned: null })).toHaveLength(figures.length - 1);
});

it("81-times has what each fresh process took to start, and then each kind of copy", async () => {
  const bytes = 40e6;
  let runs = 0;
  const said: string[] = [];
  const tools: Partial<Tools> = {
    runInFreshProcess: async () => {
      const ms = ++runs;
      const cells = [
        buildCell({ memory: "pinned", sizeBytes: bytes, GBps: bytes / (ms * 1e6) }),
        buildCell({ memory: "pageable", sizeBytes: bytes, GBps: bytes / (10 * ms * 1e6) }),
      ];
      const coldStart = [buildColdStart({ initNs: 100e6 * ms, contextNs: 1000e6 * ms })];
      return buildDocument({ cells, coldStart });
    },
    onActivity: (text) => said.push(text),
    commandFor: () => "",
  };
  const { figures } = await eightyOneTimes.answer(tools as Tools);
  // The middle of six is 3.5.
  expect(figures.map(({ value, unit }) => Math.round(unit === "ns" ? value / 1e5 : value))).toEqual([
    ...[38500, 350, 35, 10, 1110],
  ]);
  expect(said).toEqual([1, 2, 3, 4, 5, 6].map((run) => `fresh process ${run} of 6`));
});

async function costsOfPinning(
  measurePinning = session.measurePinning,
  signal = new AbortController().signal,
) {
  const cells = [64, 1, 16].flatMap((size) => [
    buildCell({ memory: "pinned", sizeBytes: size * MiB, GBps: 1 }),
    buildCell({ memory: "pageable", sizeBytes: size * MiB, GBps: 0.5 }),
  ]);
  const figures = await figuresOf(paysOff, cells, { measurePinning, signal });
  return figures.filter(({ unit }) => unit === "ns").map(({ value }) => Math.round(value / 1e6));
}

it("pays-off has what a copy saves and what each way costs at each size", async () => {
  expect(await costsOfPinning()).toEqual([1, 2, 4, 17, 32, 64, 67, 128, 256]);
});

it("pays-off has no cost of a way at a size at which it was refused even once", async () => {
  let tries = 0;
  const refusing: typeof session.measurePinning = async (kind, bytes) => {
    const isRefused = kind === "registered" && bytes === 16 * MiB && ++tries === 3;
    if (isRefused) throw Object.assign(new Error("refused"), { code: "OUT_OF_HOST_MEMORY", sticky: false });
    return session.measurePinning(kind, bytes);
  };
  expect(await costsOfPinning(refusing)).toEqual([1, 2, 4, 17, 32, 67, 128, 256]);
});

it("pays-off ends where the device is lost, a call was cut short or its time is up", async () => {
  const failing = (error: object) => () => Promise.reject(Object.assign(new Error("it broke"), error));
  for (const error of [
    { code: "CUDA_ERROR_ILLEGAL_ADDRESS", sticky: true },
    { code: "ABORTED", sticky: false },
  ]) {
    await expect(costsOfPinning(failing(error))).rejects.toThrow("it broke");
  }
  const ended = AbortSignal.abort(new Error("its time is up"));
  await expect(costsOfPinning(undefined, ended)).rejects.toThrow("its time is up");
});
