import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import { type Explanation, explanationSchema } from "../../src/explain/explanation.js";
import { runCli, startCli } from "../helpers/run-cli.js";
import { skipWithout } from "./session.js";

// All questions may take 90 s: what takes longer is not cut off, so that the test says how long it took.
const limitMs = 147_000;
vi.setConfig({ testTimeout: 150_000, hookTimeout: 150_000 });

const asked = ["explain", "--backend", "cuda", "--python", inject("gpuPython")];

/** The command lines of the processes that have this in their environment. */
function marked(marker: string): string[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      const isMarked = readFileSync(`/proc/${pid}/environ`, "latin1").includes(marker);
      return isMarked ? [readFileSync(`/proc/${pid}/cmdline`, "latin1")] : [];
    } catch {
      return [];
    }
  });
}

describe("pinbench explain of a GPU that nobody else uses", () => {
  skipWithout("gpu");

  /** Of all questions: most need seconds, and torch some more until it is imported. */
  let explanation: Explanation;
  let exitCode: number | null;
  beforeAll(async () => {
    if (inject("missing").gpu !== null) return;
    const finished = await runCli([...asked, "--all", "--json"], { limitMs });
    exitCode = finished.exitCode;
    explanation = explanationSchema.parse(JSON.parse(finished.stdout));
  });
  const answerTo = (name: string) => explanation.answers.find(({ question }) => question === name)!;

  it("answers all questions in at most 90 s, and fails with none", () => {
    const { answers, wallNs, notice } = explanation;
    expect(
      answers.flatMap(({ question, failure }) => (failure === null ? [] : [[question, failure]])),
    ).toEqual([]);
    expect({ exitCode, notice }).toEqual({ exitCode: 0, notice: null });
    expect(wallNs).toBeLessThan(90e9);
  });

  it.each([
    ["81-times", "not here"],
    ["why-pinned", "true"],
    ["too-small", "true"],
  ])("answers %s as it is known: %s", (name, verdict) => {
    expect(answerTo(name).verdict).toBe(verdict);
  });

  describe("with a torch for CUDA", () => {
    skipWithout("torch");

    it("finds that a pinned tensor which is sent loses its speed-up, and that registering it brings it back", () => {
      const answer = answerTo("pinned-in-a-class");
      expect(answer.verdict).toBe("true");
      expect(answer.summary).toContain("is_pinned() is False; cudaHostRegister there brings a copy from");
      const figure = (name: string) => answer.figures.find((one) => one.name === name)!.value;
      expect(figure("receiver: a registered copy")).toBeLessThan(1.1 * figure("sender: a pinned copy"));
      expect(figure("receiver: a pinned copy")).toBeGreaterThan(1.4 * figure("sender: a pinned copy"));
    });

    it.each([
      "pinned-in-a-class",
      "loader-pin-memory",
      "non-blocking",
      "too-many-workers",
      "pinning-in-the-loop",
      "converting-copy",
      "forgotten-pageable",
    ])("measures %s", (name) => {
      expect(answerTo(name).figures.length).toBeGreaterThan(2);
    });

    it.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)(
      "leaves no process and no shared memory behind after %s",
      async (signal) => {
        const marker = `pinbench-explained-${process.pid}-${signal}`;
        const shared = readdirSync("/dev/shm");
        const { child, finished } = startCli([...asked, "pinned-in-a-class"], {
          env: { PINBENCH_TEST_MARKER: marker },
        });
        while (!marked(marker).some((line) => line.includes("spawn_main"))) {
          expect(child.exitCode).toBeNull();
          await sleep(20);
        }
        child.kill(signal);
        await finished;
        // The guard of a process that was killed needs a moment, and the kernel another one to give pinned memory back.
        for (let waits = 0; waits < 500 && marked(marker).length > 0; ++waits) await sleep(20);
        expect(marked(marker)).toEqual([]);
        expect(readdirSync("/dev/shm").filter((name) => !shared.includes(name))).toEqual([]);
      },
    );
  });
});
