import { fileScreen } from "../../../src/draw/screen.js";
import { PinbenchError } from "../../../src/errors.js";
import { type Experiments, explainMachine } from "../../../src/explain/explain-machine.js";
import { explanationKind, renderQuestions } from "../../../src/explain/explanation-report.js";
import type { Question, RunRequest, Tools } from "../../../src/explain/question.js";
import { questions } from "../../../src/explain/questions.js";
import { type QuestionName, questionNames } from "../../../src/settings/choices.js";
import { drawn, reportOf } from "../../helpers/drawn.js";
import {
  buildCell,
  buildColdStart,
  buildDocument,
  buildSkipped,
  type CellPart,
} from "../../helpers/result-document.js";
import { seeded } from "../../helpers/seeded.js";
import { deviceFacts } from "../../measure/support.js";
import { draws } from "../draws.js";

/** A machine whose experiments come to figures at random, near to what decides on a claim: all that it answers. */
export async function explained(seed: number) {
  const { uniform, normal, pick } = seeded(seed);
  const width = pick(0.001, 0.02, 0.3);
  const device = (ordinal: number) => ({ ...deviceFacts, ordinal, name: pick("a device", "another") });
  const devices = pick([0], [0, 1], [1], [2, 0, 1], []).map(device);
  const name = pick("cuda", "cuda", "emulated") as "cuda";
  const log: unknown[] = [];
  const prepared = { backend: { name }, devices } as unknown as Experiments["prepared"];

  /** All cells that a request asks for, and others beside them. */
  const run = async (request: RunRequest, isFresh = false) => {
    log.push(request);
    const base = pick(5, 11, 12.6);
    const rates = {
      pageable: base,
      ...{ file: 0.97 * base, "file-registered": 1.4 * base },
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
    const coldStart = [buildColdStart({ initNs: 6e7 * (1 + uniform()), contextNs: 3e8 * (1 + uniform()) })];
    return buildDocument({
      cells: pick(told, told.toReversed()),
      coldStart: isFresh && uniform() < 0.01 ? [] : coldStart,
    });
  };

  const torchIs = pick("there", "there", "there", "there", "missing", "without GPU", "failing");
  const count = pick(15, 15, 3);
  /** Times of an experiment by their medians in ms. */
  const rounds = (medians: Record<string, number>) =>
    Object.fromEntries(
      Object.entries(medians).map(([name, ms]) => [
        name,
        Array.from({ length: count }, () => ms * 1e6 * Math.max(0.1, 1 + width * normal())),
      ]),
    );
  const near = (ms: number) => ({
    "loader-pin-memory": { pinned: ms * pick(0.95, 1, 1.1), unpinned: ms, uncopied: ms * 0.95 },
    "non-blocking": {
      ...{ compute: ms, pinnedCopy: ms, pageableCopy: 4 * ms, pinnedCall: ms / 50, pageableCall: 3.9 * ms },
      ...{ pinnedOneStream: ms * pick(2, 1.5, 1), pinnedOwnStream: ms * pick(2, 1.1) },
      ...{ pageableOneStream: 5 * ms, pageableOwnStream: ms * pick(5, 4) },
    },
    "pinned-in-a-class": {
      ...{ senderPinned: ms, senderPageable: ms * pick(1.08, 1.12, 4) },
      ...{ receiverPinned: ms * pick(1, 3.7), receiverPageable: 4 * ms },
      ...pick<Record<string, number>>({}, { registered: ms }),
    },
    "converting-copy": { plain: ms, converting: ms * pick(1.4, 1.6, 9), nonBlocking: ms * 1.1, after: ms },
    "pinning-in-the-loop": { pageable: ms, eachTime: ms * pick(0.9, 0.96, 2), kept: ms, before: ms / 4 },
    "forgotten-pageable": {
      queue: 20,
      pinned: pick(0.02, 1.9, 20),
      pageable: pick(0.1, 9.8, 20),
      labels: ms,
    },
    "too-many-workers": { none: 16 * ms, half: 4 * ms, each: 2 * ms, twice: ms * pick(1.9, 2.05, 2.1, 3) },
  });
  const measure = async (question: QuestionName) => {
    if (torchIs === "failing") throw new PinbenchError("measurement", "the process ended.");
    if (torchIs !== "there") {
      const missing = torchIs === "missing" ? "There is no torch." : "This needs a GPU.";
      throw new PinbenchError("unavailable", missing, pick({}, { hint: "Install it." }));
    }
    const times = rounds(near(pick(1.2, 5))[question as "converting-copy"]);
    const facts = { cpus: pick(1, 8), isPinned: pick(true, false), registerRefused: 801 };
    return { type: "measured", torch: "torch 2.11.0 of python3, on a GPU", times, facts };
  };
  const torch = { python: "python3", measure } as unknown as Tools["torch"];
  const failure = pick<unknown>(
    new Error("cuMemHostAlloc failed"),
    "it is gone!",
    new PinbenchError("limit", "the plan does not fit", { hint: "Take less." }),
  );
  const fails = pick(false, false, false, true);
  const played = (question: Question): Question => ({
    ...question,
    answer: async (real) => {
      if (fails && question.name === "overlap") throw failure;
      return question.answer({ ...real, torch, run, runInFreshProcess: (request) => run(request, true) });
    },
  });
  // It measures memory of the machine itself.
  const playable = questions.filter((question) => question.name !== "too-much-pinned");
  const asked = seed % 4 === 0 ? playable.filter(() => uniform() < 0.3) : playable;
  const end = new AbortController();
  const endAt = pick("", "", "", pick(...questionNames));
  const document = await explainMachine({
    ...{
      questions: asked.map(played),
      prepared,
      settings: { backend: "auto", python: null },
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

draws(import.meta.url, async () => {
  const outputs: [string, unknown][] = [];
  for (const format of ["json", "table"]) {
    outputs.push([`the questions as ${format}`, renderQuestions(questions, format, fileScreen())]);
  }
  for (let seed = 1; seed <= 70; ++seed) outputs.push([`a machine at random ${seed}`, await explained(seed)]);
  return outputs;
});
