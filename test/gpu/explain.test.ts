import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { explanationSchema } from "../../src/explain/explanation.js";
import { runCli, startCli } from "../helpers/run-cli.js";

/** The Python that has a torch with CUDA. */
const python = process.env.PINBENCH_TEST_PYTHON ?? "python3";

const isEmulated = process.env.PINBENCH_TEST_BACKEND === "emulated";

const hasTorch =
  !isEmulated &&
  spawnSync(python, ["-c", "import sys, torch; sys.exit(not torch.cuda.is_available())"]).status === 0;

const asked = ["explain", "--backend", "cuda", "--device", "0", "--python", python];

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

describe.skipIf(!hasTorch)("pinbench explain with a torch that has a GPU", () => {
  it("finds that a pinned tensor which is sent loses its speed-up, and that registering it brings it back", async () => {
    const { exitCode, stdout } = await runCli([...asked, "pinned-in-a-class", "--json"]);
    const { answers } = explanationSchema.parse(JSON.parse(stdout));
    const [answer] = answers;
    expect({ exitCode, verdict: answer?.verdict, failure: answer?.failure }).toEqual({
      ...{ exitCode: 0, verdict: "true", failure: null },
    });
    expect(answer!.sentences.join("\n")).toContain("The cause: is_pinned() is False there");
    const figure = (name: string) => answer!.figures.find((one) => one.name === name)!.value;
    expect(figure("receiver: registered")).toBeGreaterThan(0.9 * figure("sender: pinned"));
    expect(figure("receiver: pinned")).toBeLessThan(0.7 * figure("sender: pinned"));
  });

  it("answers what needs torch in at most 45 s, and fails with none of it", async () => {
    const names = ["pinned-in-a-class", "loader-pin-memory", "non-blocking", "too-many-workers"];
    const { exitCode, stdout } = await runCli([...asked, ...names, "--json"]);
    const { answers, wallNs } = explanationSchema.parse(JSON.parse(stdout));
    expect(exitCode).toBe(0);
    expect(answers.map(({ question, failure }) => [question, failure])).toEqual(
      names.map((name) => [name, null]),
    );
    for (const { figures } of answers) expect(figures.length).toBeGreaterThan(2);
    expect(wallNs).toBeLessThan(45e9);
  });

  it.each(["SIGINT", "SIGKILL"] as const)("leaves no process behind after %s", async (signal) => {
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
  });
});

describe.skipIf(isEmulated)("pinbench explain of a GPU that nobody else uses", () => {
  it("answers all questions in at most 90 s, the known ones as they are known", async () => {
    const { exitCode, stdout } = await runCli(["explain", "--backend", "cuda", "--all", "--json"]);
    const { answers, wallNs, notice } = explanationSchema.parse(JSON.parse(stdout));
    expect(answers.filter(({ failure }) => failure !== null)).toEqual([]);
    expect({ exitCode, notice }).toEqual({ exitCode: 0, notice: null });
    expect(wallNs).toBeLessThan(90e9);
    const verdictOn = (name: string) => answers.find(({ question }) => question === name)?.verdict;
    expect(verdictOn("81-times")).toBe("not here");
    expect(verdictOn("why-pinned")).toBe("true");
    expect(verdictOn("pays-off")).toBe("true");
    expect(verdictOn("too-small")).toBe("true");
  });
});
