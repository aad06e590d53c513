import { beforeAll, describe, expect, it, vi } from "vitest";
import { openDevices, toolsOn } from "../../src/explain/experiment-tools.js";
import type { Answer, Tools } from "../../src/explain/question.js";
import { questions } from "../../src/explain/questions.js";
import { TorchBench } from "../../src/explain/torch/torch-bench.js";
import type { NativeSession } from "../../src/native/contract.js";
import type { QuestionName } from "../../src/settings/choices.js";

/*
 * The experiments themselves, on an emulated device: that each finds the figures that it concludes from. Few samples are
 * taken, all fresh processes are one run, memory that is only obtained is small, and nobody waits for the kernel's counts; what
 * the figures come to is not looked at.
 */

vi.mock("node:timers/promises", () => ({ setTimeout: async () => undefined }));

/** A session that obtains a page where more is asked for, but for what nobody can have. */
function frugal(session: NativeSession): NativeSession {
  const few = (bytes: number) => (bytes > 2 ** 40 ? bytes : Math.min(bytes, 2 ** 20));
  return {
    measurePinning: (kind, bytes) => session.measurePinning(kind, few(bytes)),
    obtainPool: (options) => session.obtainPool({ ...options, bytes: few(options.bytes) }),
    measureFirstCopy: (restMs) => session.measureFirstCopy(restMs),
  } as Pick<NativeSession, "measurePinning" | "obtainPool" | "measureFirstCopy"> as NativeSession;
}

let tools: Tools;
beforeAll(async () => {
  const prepared = await openDevices({ backend: "emulated", devices: "all" });
  const settings = { backend: "emulated", python: null } as const;
  // Nobody asks it here.
  const torch = new TorchBench("python3", 0);
  const bench = { prepared, sharing: null, torch, settings, onActivity: () => undefined };
  const real = toolsOn(bench, new AbortController().signal);
  const run: Tools["run"] = ({ budgetNs, ...request }) => real.run({ ...request, samplesPerCell: 6 });
  let ofProcess: ReturnType<Tools["run"]> | null = null;
  tools = {
    ...real,
    run,
    inSession: (work) => real.inSession((session) => work(frugal(session))),
    runInFreshProcess: (request) => {
      ofProcess ??= run(request);
      return ofProcess;
    },
  };
});

async function answered(name: QuestionName): Promise<Answer> {
  const asked = questions.find((question) => question.name === name)!;
  return asked.answer(tools);
}

const unitsOf = ({ figures }: Answer) => figures.map(({ unit }) => unit);

describe("the experiment of", () => {
  it("why-pinned has the rates of four kinds of memory", async () => {
    const answer = await answered("why-pinned");
    expect(unitsOf(answer)).toEqual([...Array(4).fill("GB/s"), "ratio", "ratio"]);
    expect(answer.figures[0]).toMatchObject({ samples: 6, interval: { low: expect.any(Number) } });
    expect(answer.command).toMatch(/^pinbench run --backend emulated --sizes 64MiB --memory/);
  });

  it("pays-off has what pinning costs at three sizes", async () => {
    const { figures } = await answered("pays-off");
    for (const size of ["1 MiB", "16 MiB", "64 MiB"]) {
      const names = figures.map(({ name }) => name);
      expect(names).toContain(`${size}: a pinned copy saves`);
      expect(names).toContain(`${size}: cuMemHostAlloc, beyond pageable memory`);
      expect(names).toContain(`${size}: registering, beyond pageable memory`);
    }
  });

  it("81-times has what six processes took", async () => {
    const { figures, command } = await answered("81-times");
    expect(figures.map(({ samples }) => samples)).toEqual([6, 6, 6, 6, 6]);
    expect(command).toMatch(/--sizes 40MB .*--runs 6$/);
  });

  it("low-latency has medians and the slowest in a hundred, from three places", async () => {
    const answer = await answered("low-latency");
    expect(unitsOf(answer)).toEqual([...Array(6).fill("ns"), "ratio", "ratio", "ns"]);
    expect(answer.parts).toHaveLength(2);
    expect(answer.command).toContain("--mode latency");
  });

  it("overlap has copies and kernels in turn and in chunks, from two kinds of memory", async () => {
    const answer = await answered("overlap");
    expect(unitsOf(answer)).toEqual(["ns", "ns", "ns", "share", "ns", "ns", "ns", "share"]);
  });

  it("too-much-pinned weighs a pool six times, and is refused what cannot be had", async () => {
    const { figures, sentences } = await answered("too-much-pinned");
    expect(figures.map(({ samples }) => samples)).toEqual([6, 6]);
    expect(sentences[1]).toMatch(/CUDA_ERROR_OUT_OF_MEMORY\), and copies work as before|overcommit_memory/);
  });
});
