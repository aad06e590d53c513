import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { PinbenchError, type TuneOptions, tune } from "../../src/index.js";
import { tuningSchema } from "../../src/results/tuning.js";

/** Children of this process that run the program. */
function childrenRunning(program: string): string[] {
  const text = (pid: string, file: string) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "utf8");
    } catch {
      return "";
    }
  };
  return readdirSync("/proc")
    .filter((pid) => text(pid, "cmdline").includes(program))
    .filter((pid) => text(pid, "status").includes(`\nPPid:\t${process.pid}\n`));
}

const small: TuneOptions = {
  backend: "emulated",
  sampleBytes: "4KiB",
  sampleCost: "100us",
  batchSize: 4,
  maxWorkers: 1,
  budget: "3s",
};

describe("tune()", () => {
  it("returns the document that --json prints", async () => {
    const tuning = await tune(small);
    expect(tuningSchema.parse(JSON.parse(JSON.stringify(tuning)))).toEqual(tuning);
    expect(tuning).toMatchObject({ run: { argv: [] }, method: { maxWorkers: 1 } });
    // Whether the search is done within its budget is for the machine to say.
    expect(["complete", "budget"]).toContain(tuning.run.status);
    expect(tuning.recommendation?.score.batchesPerSecond).toBeGreaterThan(0);
  });

  it("models a loader on the emulated device only if asked for it", async () => {
    const { backend: _, ...unsaid } = small;
    const backend = await tune(unsaid).then(
      ({ probe }) => (probe.device?.includes("emulated") ? "emulated" : "cuda"),
      ({ kind }) => kind,
    );
    expect(["cuda", "unavailable"]).toContain(backend);
  });

  it("tunes a job that runs, and ends it", async () => {
    const job = fileURLToPath(new URL("../fixtures/tune/live/fake_job.mjs", import.meta.url));
    const command = [process.execPath, job, JSON.stringify({ stepMs: [4, 2] })];
    const tuning = await tune({ command, maxWorkers: 1, budget: "6s" });
    expect(tuningSchema.parse(JSON.parse(JSON.stringify(tuning)))).toEqual(tuning);
    expect(tuning).toMatchObject({ probe: { kind: "live" }, recommendation: { setting: { numWorkers: 1 } } });
    expect(childrenRunning(job)).toEqual([]);
  });

  it("rejects if it is aborted before there is anything to return", async () => {
    await expect(tune({ ...small, signal: AbortSignal.abort() })).rejects.toThrow(PinbenchError);
  });

  it.each([
    [{}, /^There is no data to tune for/],
    [{ ...small, batchSize: 0 }, /^"0" is not a batch size/],
    [{ ...small, budget: "soon" }, /^"soon" is not a duration/],
    [{ ...small, workers: 4 }, /^There is no option workers/],
    [{ command: ["true"], batchSize: 4 }, /^--batch-size has no effect with a command/],
    [{ command: ["no-such-command"] }, /^There is no command no-such-command/],
    [{ command: [] }, /^The option command must be a list of words/],
    [{ command: ["true", 7] }, /^The option command must be a list of words/],
    [{ command: ["true"], go: true }, /^There is no option go/],
    [{ ...small, torch: "a.py:b" }, /^--sample-bytes has no effect with --torch/],
  ])("says what is wrong with %o", async (options, message) => {
    await expect(tune(options as TuneOptions)).rejects.toMatchObject({
      kind: "usage",
      message: expect.stringMatching(message),
    });
  });
});
