import { fileScreen } from "../../../src/draw/screen.js";
import { PinbenchError } from "../../../src/errors.js";
import { type Bench, explainMachine, toolsOn } from "../../../src/explain/experiment-tools.js";
import type { MeasuredFigure } from "../../../src/explain/explanation.js";
import { explanationKind, renderQuestions } from "../../../src/explain/explanation-report.js";
import { explainCommand, type Question, type RunRequest, type Tools } from "../../../src/explain/question.js";
import { concludeTooManyWorkers, workersToTry } from "../../../src/explain/questions/too-many-workers.js";
import { concludeTooMuch } from "../../../src/explain/questions/too-much-pinned.js";
import { questions, questionsNamed } from "../../../src/explain/questions.js";
import type { ExperimentName } from "../../../src/explain/torch/program-messages.js";
import type { NativeSession } from "../../../src/native/contract.js";
import { questionNames } from "../../../src/settings/choices.js";
import { KiB, MiB } from "../../../src/settings/units.js";
import { drawn, reportOf } from "../../helpers/drawn.js";
import {
  buildCell,
  buildColdStart,
  buildDocument,
  buildSkipped,
  type CellPart,
} from "../../helpers/result-document.js";
import { seeded } from "../../helpers/seeded.js";
import { deviceFacts, nativeError } from "../../measure/support.js";
import { draws } from "../draws.js";

/** A machine whose experiments come to figures at random, near to what decides on a claim: all that it answers. */
export async function explained(seed: number) {
  const { uniform, normal, pick } = seeded(seed);
  const width = pick(0.001, 0.02, 0.3);
  const device = (ordinal: number) => ({ ...deviceFacts, ordinal, name: pick("a device", "another") });
  const devices = pick([0], [0, 1], [1], [2, 0, 1], []).map(device);
  const name = pick("cuda", "cuda", "emulated") as "cuda";
  const log: unknown[] = [];
  const openSession = async ({ device: ordinal }: { device: number }) => {
    if (ordinal === 2) throw new Error("it is in use");
    log.push(`open ${ordinal}`);
    return { abort: () => undefined, close: async () => void log.push(`close ${ordinal}`) };
  };
  const prepared = { backend: { name, driver: { openSession } }, devices } as unknown as Bench["prepared"];
  const settings = {
    backend: pick("auto", name, name),
    python: pick(null, "/opt/a b/python3"),
  } as const;

  /** All cells that a request asks for, and others beside them. */
  const run = async (request: RunRequest, isFresh = false) => {
    log.push(request);
    const base = pick(5, 11, 12.6);
    const rates = {
      pageable: base,
      host: base / pick(0.4, 0.5, 0.87, 1.24, 1.26, 1.6),
      staged: base * pick(0.9, 1.04, 1.06),
      pinned: base * pick(0.9, 1, 1.02, 1.06, 1.09, 1.11, 5, 81, 95),
    };
    const cells = [...(request.memory ?? []), "host" as const].flatMap((memory) =>
      request.sizesBytes!.flatMap((sizeBytes) => {
        const part = (more: CellPart): CellPart => {
          const rate = rates[memory as "pinned"] * (1 + 0.01 * normal()) * (1 + sizeBytes / 2 ** 31);
          const us = sizeBytes / rate / 1e3;
          const half = uniform() < 0.06 ? null : width;
          const latency =
            request.modes?.[0] === "latency"
              ? { mode: "latency" as const, latencyUs: { median: us, p99: us * 1.7 } }
              : {};
          return {
            memory,
            sizeBytes,
            GBps: { h2d: rate, d2h: 7, bidir: 8 } as never,
            relativeHalfWidth: half,
            ...latency,
            ...more,
            result: { computeNs: (sizeBytes / rates.pinned) * pick(0.5, 1, 2) },
          };
        };
        const wanted = ((request.devices as number[] | undefined) ?? [devices[0]?.ordinal ?? 0]).flatMap(
          (one) => [
            ...(request.together
              ? [
                  part({
                    device: one,
                    together: request.devices as number[],
                    GBps: rates[memory as "pinned"] * pick(0.5, 0.89, 0.91, 0.97, 1),
                  }),
                ]
              : []),
            ...(request.pipelineChunks ?? []).map((chunks) =>
              part({
                device: one,
                chunks,
                GBps: rates[memory as "pinned"] * (chunks === 1 ? 0.5 : pick(0.5, 0.56, 0.62, 0.66, 0.9)),
              }),
            ),
            part({ device: one }),
          ],
        );
        return [...wanted, part({ direction: "d2h" }), part({ device: 9 })].map(buildCell);
      }),
    );
    const lost = uniform() < 0.06 ? cells.findIndex(({ memory }) => memory === "pinned") : -1;
    const told = cells.map((cell, i) =>
      i === lost ? buildSkipped({ memory: "pinned", sizeBytes: cell.sizeBytes }, "it does not fit") : cell,
    );
    const cost = (ns: number) => ({ allocateNs: ns, freeNs: ns / 3, hugePageBytes: null });
    const pinning = [64 * MiB, 588 * KiB].map((sizeBytes, i) => ({
      ...{
        sizeBytes,
        pageable: cost(5e3),
        pinned: pick(null, cost(3e4 + i), cost(5e4 + i)),
        registered: cost(7e4),
        h2dSavedNs: null,
        d2hSavedNs: null,
      },
      repetitions: pick(7, 9),
    }));
    const coldStart = [
      buildColdStart({ initNs: 6e7 * (1 + uniform()), contextNs: 3e8 * (1 + uniform()), pinning }),
    ];
    return buildDocument({
      cells: pick(told, told.toReversed()),
      coldStart: isFresh && uniform() < 0.01 ? [] : coldStart,
    });
  };
  const odd = pick("", "", "", "refused", "refused once", "lost");
  const kinds = { pageable: 1, pinned: pick(0.5, 1, 1.6, 9), registered: pick(0.4, 1, 1.1, 3) };
  let costs = 0;
  const measurePinning: NativeSession["measurePinning"] = async (kind, bytes) => {
    const isRefused =
      odd === "refused"
        ? kind !== "pageable"
        : odd === "refused once" && kind === "registered" && ++costs === 12;
    if (isRefused || odd === "lost") throw nativeError("CUDA_ERROR_OUT_OF_MEMORY", odd === "lost");
    const ns = kinds[kind as "pinned"] * (bytes / MiB) * 3e5 * (1 + pick(0.01, 0.3) * normal());
    return { allocateNs: ns, freeNs: ns / 2, hugePageBytes: null };
  };
  const torchIs = pick("there", "there", "there", "there", "missing", "without GPU", "failing");
  const times = (ns: number, count: number) =>
    Array.from({ length: count }, () => ns * Math.max(0.1, 1 + width * normal()));
  /** An experiment of torch, by what is near to its bounds. */
  const figuresOf = (
    experiment: ExperimentName,
    options: { rounds: number; bytes: number; evenBytes: number },
  ) => {
    const [ns, count, yes] = [
      pick(1.2e6, 5e6),
      pick(options.rounds, options.rounds, 3),
      () => pick(true, false),
    ];
    if (experiment === "sent") {
      const [pageable, refused] = [ns * pick(1, 1.08, 1.12, 4), pick(null, null, 801)];
      const sender = {
        isPinnedBefore: pick(true, true, true, false),
        isPinnedAfter: yes(),
        parentPinned: times(ns, count),
        parentPageable: times(pageable, count),
      };
      const there = {
        isPinnedInChild: yes(),
        isPinnedInObject: yes(),
        isPinnedRegistered: yes(),
        childPinned: times(ns, count),
        childPageable: times(pageable, count),
      };
      const inObject = pageable - (pageable - ns) * pick(0, 0.1, 0.6, 1);
      return {
        bytes: pick(options.bytes, 240 * KiB),
        ...sender,
        ...there,
        childInObject: times(inObject, count),
        childRegistered: refused === null ? times(pick(ns, inObject / 1.08, inObject / 1.15), count) : [],
        registerRefused: refused,
      };
    }
    if (experiment === "overlap") {
      const [compute, pinnedCopy, pageableCopy] = [
        times(ns * pick(0.5, 1, 3), count),
        times(ns, count),
        times(ns * pick(1, 4), count),
      ];
      const call = (copy: number[]) => copy.map((one) => one * pick(0.05, 0.48, 0.52, 0.95));
      const both = (copy: number[]) => {
        const hidden = pick(0, 0.15, 0.25, 0.45, 0.55, 0.9);
        return copy.map((one, i) => one + compute[i]! - hidden * Math.min(one, compute[i]!));
      };
      return {
        bytes: options.bytes,
        compute,
        pinnedCopy,
        pageableCopy,
        pinnedCall: call(pinnedCopy),
        pageableCall: call(pageableCopy),
        pinnedOneStream: both(pinnedCopy),
        pageableOneStream: both(pageableCopy),
        pinnedOwnStream: both(pinnedCopy),
        pageableOwnStream: both(pageableCopy),
      };
    }
    if (experiment === "loader") {
      const uncopied = times(ns, count);
      const has = (by: number) => uncopied.map((one) => one * (by + width * normal() * 0.1));
      return {
        batches: pick(79, 1),
        pinned: uniform() < 0.1 ? [] : has(pick(0.95, 1, 1.1)),
        unpinned: has(pick(0.98, 1, 1.01, 1.03, 1.1)),
        uncopied,
      };
    }
    const { bytes, evenBytes } = options;
    return {
      bytes,
      evenBytes,
      pinned: times(bytes * pick(1, 1.48, 1.52, 1.88), count).map(Math.round),
      hasStatistics: yes(),
      uneven: times(2 * ns, count),
      even: times(ns, count),
    };
  };
  const gpuMissing = torchIs === "without GPU" ? "torch 2.11.0 sees no GPU" : null;
  const python = pick("python3", "/opt/env/bin/python", "/the user's/python");
  const torch = {
    python,
    facts: async () => {
      if (torchIs === "missing")
        throw new PinbenchError("unavailable", "There is no torch.", pick({}, { hint: "Install it." }));
      return {
        torch: "2.11.0",
        python,
        deviceName: gpuMissing === null ? pick("a GPU", null) : null,
        gpuMissing,
      };
    },
    measure: async (experiment: ExperimentName, options: never) => {
      log.push([experiment, options]);
      if (torchIs === "failing") throw new PinbenchError("measurement", "the process ended.");
      return figuresOf(experiment, options);
    },
  } as unknown as Bench["torch"];
  const workers = () => {
    const cpus = pick(1, 2, 8, 16);
    const rates = workersToTry(cpus)
      .slice(0, pick(1, 2, 3, 4, 4, 4))
      .map((numWorkers) => {
        const batchesPerSecond = 40 * pick(0.9, 0.96, 0.98, 1, 1.2);
        const [low, high] = pick(
          [1 - width, 1 + width],
          [1 - width, 1 + width],
          [0, Number.POSITIVE_INFINITY],
        );
        return {
          numWorkers,
          batchesPerSecond,
          low: low! * batchesPerSecond,
          high: high! * batchesPerSecond,
          batches: pick(9, 70),
        };
      });
    return concludeTooManyWorkers({ cpus, rates, without: pick([], ["32 workers, not pinned: no room."]) });
  };
  const tooMuch = () => {
    const share = (value: number): MeasuredFigure => ({
      name: "a share",
      value,
      unit: "share",
      interval: pick(null, { low: value - width, high: value + width }),
      samples: 6,
    });
    const impossible = pick(null, {
      refusal: pick(null, "CUDA_ERROR_OUT_OF_MEMORY"),
      ns: pick(2e5, 4.1e9),
      worksAfter: pick(true, false),
    });
    return concludeTooMuch({
      poolBytes: pick(512 * MiB, 3 * MiB),
      taken: share(pick(1, 0.79, 0.81, 0.02)),
      returned: share(pick(1, 0.6)),
      impossible,
      totalBytes: 137e9,
      availableBytes: pick(100e9, 2 ** 30),
    });
  };
  const command = "pinbench explain";
  const answers: Partial<Record<string, Question["answer"]>> = {
    "too-many-workers": async () => ({ ...workers(), command }),
    "too-much-pinned": async ({ torch: { python } }) => ({ ...tooMuch(), command: `${command} ${python}` }),
    overlap: pick<Question["answer"] | undefined>(undefined, undefined, undefined, () =>
      Promise.reject(
        pick<unknown>(
          new Error("cuMemHostAlloc failed"),
          "it is gone!",
          new PinbenchError("limit", "the plan does not fit", { hint: "Take less." }),
        ),
      ),
    ),
  };
  const played = (question: Question): Question => ({
    ...question,
    answer(real) {
      const tools: Tools = {
        ...real,
        torch,
        run,
        runInFreshProcess: (request) => run(request, true),
        inSession: (work) => work({ measurePinning } as NativeSession),
      };
      return (answers[question.name] ?? question.answer)(tools);
    },
  });
  const asked = seed % 4 === 0 ? questions.filter(() => uniform() < 0.3) : questions;
  const end = new AbortController();
  const endAt = pick("", "", "", pick(...questionNames));
  const document = await explainMachine({
    ...{
      questions: asked.map(played),
      prepared,
      settings,
      sharing: null,
      signal: end.signal,
      startedAt: new Date("2026-11-22T10:00:00Z"),
      startedMs: 0,
    },
    onActivity: (text) => {
      log.push(text);
      if (endAt !== "" && text.startsWith(endAt)) end.abort();
    },
  });
  const ofAnswers = document.answers.map((answer) => ({ ...answer, wallNs: 1 }));
  const same = {
    ...document,
    answers: ofAnswers,
    wallNs: 24e9,
    host: "node-17",
    tool: { ...document.tool, version: "0.1.0" },
  };
  const formats = seed % 8 === 0 ? ["table", "markdown"] : [];
  const texts = formats.map((format) => drawn(explanationKind, same, format).split("\n"));
  return [...texts, reportOf(explanationKind, same), log, same];
}

/** The commands that repeat what was asked. */
function commands(seed: number) {
  const { pick } = seeded(seed);
  return Array.from({ length: 30 }, () => {
    const devices = pick([0], [1], [1, 0], []).map((ordinal) => ({ ...deviceFacts, ordinal }));
    const backend = { name: pick("cuda", "emulated") as "cuda" };
    const torch = { python: pick("python3", "/opt/a+b@1,2:3=%.py", "/the user's/python") };
    const request: RunRequest = {
      ...pick<RunRequest>(
        {},
        { devices: [3] },
        { devices: [0, 1], together: true },
        { verify: "every" as const },
      ),
      ...{
        sizesBytes: [pick(40e6, 2 ** 20, 588 * KiB, 1000, 1024e6), 3 * MiB],
        budgetNs: pick(1e9, 1.5e9, 3e10),
      },
      ...pick({}, { modes: ["latency" as const] }, { pipelineChunks: [1, 8] }),
    };
    const settings = { backend: backend.name, python: null };
    const bench = {
      prepared: { backend, devices },
      sharing: null,
      torch,
      settings,
      onActivity: () => undefined,
    } as unknown as Bench;
    return [
      toolsOn(bench, new AbortController().signal).commandFor(request),
      explainCommand(
        { name: "overlap", needs: pick("device", "devices", "torch") },
        { backend, devices, torch },
      ),
      questionsNamed(
        pick<readonly string[] | "all">("all", ["overlap", "why-pinned"], [pick(...questionNames)]),
      ).map((one) => one.name),
    ];
  });
}

draws(import.meta.url, async () => {
  const outputs: [string, unknown][] = [["the commands", commands(1)]];
  for (const format of ["json", "markdown", "table"]) {
    outputs.push([`the questions as ${format}`, renderQuestions(questions, format, fileScreen())]);
  }
  for (let seed = 1; seed <= 70; ++seed) outputs.push([`a machine at random ${seed}`, await explained(seed)]);
  return outputs;
});
