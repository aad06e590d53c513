import type { ExplainedAnswer, Explanation } from "../../src/explain/explanation.js";
import { concludeLowLatency } from "../../src/explain/questions/low-latency.js";
import { concludeWhyPinned } from "../../src/explain/questions/why-pinned.js";
import { measured } from "./measured-figure.js";

const image = (name: string, us: number) => ({
  typical: measured(us * 1e3, "ns", 1, name),
  p99: measured(2 * us * 1e3, "ns", null, `${name}: 99 of 100 within`),
});

const answer = (part: Partial<ExplainedAnswer> & Pick<ExplainedAnswer, "question">): ExplainedAnswer => ({
  title: "do asynchronous copies run at the same time as kernels?",
  claim: "An asynchronous copy from pinned memory runs beside the computation on the batch before it.",
  verdict: "inconclusive",
  parts: [],
  figures: [],
  sentences: ["Nothing was measured."],
  command: `pinbench explain ${part.question}`,
  failure: null,
  hasWrongData: false,
  wallNs: 1.2e9,
  ...part,
});

/** One true claim, one false claim with parts, and one that a failure leaves undecided. */
export function buildExplanation(part: Partial<Explanation> = {}): Explanation {
  const failure = "cuMemHostAlloc failed with CUDA_ERROR_OUT_OF_MEMORY (out of memory).";
  return {
    schemaVersion: 1,
    kind: "explanation",
    tool: { name: "pinbench", version: "0.1.0" },
    createdAt: "2026-11-22T10:00:00.000Z",
    wallNs: 24e9,
    backend: "cuda",
    notice: null,
    host: "node-17",
    devices: [{ ordinal: 0, name: "NVIDIA H200" }],
    asked: ["why-pinned", "low-latency", "overlap"],
    answers: [
      answer({
        question: "why-pinned",
        title: "why is a copy from pinned memory faster?",
        claim:
          "The driver stages a pageable copy: the CPU copies it into a pinned buffer, from which it goes to the GPU. Pinned memory spares that.",
        command:
          "pinbench run --sizes 64MiB --memory pageable,staged,pinned --direction h2d --workers 1 --budget 1s",
        ...concludeWhyPinned({
          pageable: measured(10.98, "GB/s", 4, "pageable to the device"),
          byCpu: measured(12.6, "GB/s", 3, "pageable into pinned slots, by the CPU"),
          staged: measured(11.3, "GB/s", 3, "pageable to the device, staged by pinbench"),
          pinned: measured(55.3, "GB/s", 0.2, "pinned to the device"),
        }),
      }),
      answer({
        question: "low-latency",
        title: "does one image arrive sooner when it is pinned first?",
        claim: "For inference at low latency, pin the image, then copy it: it reaches the GPU sooner.",
        command: "pinbench run --sizes 588KiB --memory pageable,staged,pinned --mode latency",
        ...concludeLowLatency({
          pageable: image("from pageable memory", 62),
          pinned: image("from pinned memory", 14),
          copiedFirst: image("copied into a pinned buffer, then sent", 63),
          newBuffer: measured(61e3, "ns", null, "a new pinned buffer: obtained and given back"),
        }),
      }),
      answer({ question: "overlap", sentences: [failure], failure }),
    ],
    ...part,
  };
}
