import type { ExplainedAnswer, Explanation } from "../../src/explain/explanation.js";
import { measured } from "./measured-figure.js";

const answer = (part: Partial<ExplainedAnswer> & Pick<ExplainedAnswer, "question">): ExplainedAnswer => ({
  title: "do asynchronous copies run at the same time as kernels?",
  claim: "An asynchronous copy from pinned memory runs beside the computation on the batch before it.",
  verdict: "inconclusive",
  figures: [],
  summary: "Nothing was measured.",
  failure: null,
  hasWrongData: false,
  wallNs: 1.2e9,
  ...part,
});

/** One true claim, one false claim, and one that a failure leaves undecided. */
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
        verdict: "true",
        summary:
          "The CPU fills pinned slots at 12.6 GB/s, a pageable copy reaches 10.9 GB/s, a pinned one 55.3 GB/s.",
        figures: [
          measured(10.98, "GB/s", 4, "pageable to the device"),
          measured(12.6, "GB/s", 3, "pageable into pinned slots, by the CPU"),
          measured(11.3, "GB/s", 3, "pageable to the device, staged by pinbench"),
          measured(55.3, "GB/s", 0.2, "pinned to the device"),
          { ...measured(5.04, "ratio", 4, "pinned over pageable"), samples: 0 },
        ],
      }),
      answer({
        question: "low-latency",
        title: "does one image arrive sooner when it is pinned first?",
        claim: "For inference at low latency, pin the image, then copy it: it reaches the GPU sooner.",
        verdict: "not here",
        summary:
          "From pageable memory it arrives after 62 µs, copied into a pinned buffer first after 63 µs, decoded into pinned memory after 14 µs.",
        figures: [
          measured(62e3, "ns", 1, "from pageable memory"),
          measured(63e3, "ns", 1, "copied into a pinned buffer, then sent"),
          measured(14e3, "ns", 1, "from pinned memory"),
          measured(124e3, "ns", null, "from pageable memory: 99 of 100 within"),
        ],
      }),
      answer({ question: "overlap", summary: failure, failure }),
    ],
    ...part,
  };
}
