import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { describeTrial } from "../../src/cli/live-tune.js";
import { usualSetting } from "../../src/results/loader-setting.js";
import { type Tuning, tuningSchema } from "../../src/results/tuning.js";
import { notStarted } from "../../src/tune/torch/torch-trial.js";
import { expectSentence } from "../helpers/baseline-folder.js";
import { coldTraining, expectNothingLeft, folder, startTune, training, tune } from "../helpers/live-job.js";
import { tuningSchemaErrors } from "../helpers/schema-errors.js";
import { skipWithoutTorch, testPython, warmPython } from "../helpers/test-python.js";
import { evenly } from "../helpers/tune.js";

const ended = "pinbench: the search is done, so the command is ended; with --go it would train on.";

/** What was saved, checked as every reader checks it. */
function saved(path: string): Tuning {
  const document = JSON.parse(readFileSync(path, "utf8")) as unknown;
  expect(tuningSchemaErrors(document)).toBeNull();
  return tuningSchema.parse(document);
}

const epochLines = (count: number, samples: number) =>
  Array.from({ length: count }, (_, epoch) => `epoch ${epoch}: ${samples} samples\n`).join("");

it.each([
  [2.5e6, "100 batches/s, waits 25 %"],
  [40e6, "100 batches/s, waits 100 %"],
  [null, "100 batches/s"],
])("says of a loop that waits %j ns for each batch: %s", (waitNsPerBatch, text) => {
  const trial = notStarted(usualSetting(0, false));
  const arrivalsNs = evenly(50, 10e6);
  expect(describeTrial({ ...trial, arrivalsNs, waitNsPerBatch })).toBe(`0 workers, not pinned: ${text}`);
});

it("says of a loop without a rate why it has none", () => {
  const trial = notStarted(usualSetting(0, false));
  expect(describeTrial({ ...trial, arrivalsNs: evenly(1, 10e6) })).toBe(
    "0 workers, not pinned: too few batches arrived",
  );
  const failure = { ...trial.failure!, message: "the loop raised an error" };
  expect(describeTrial({ ...trial, failure, arrivalsNs: evenly(50, 10e6) })).toBe(
    "0 workers, not pinned: the loop raised an error",
  );
});

describe.concurrent("pinbench tune -- COMMAND", { timeout: 120_000 }, () => {
  skipWithoutTorch();

  it("tunes a script as it runs, says on stderr what it found, and ends it", async () => {
    const file = join(folder(), "tuning.json");
    // What a worker costs is little of a sample, however busy the machine is.
    const run = await tune(coldTraining("--length", "100000", "--cost", "0.004"), "--output", file);
    const { exitCode, stdout, stderr } = run;
    expect({ exitCode, stdout }, stderr).toEqual({ exitCode: 0, stdout: "" });
    const lines = stderr.split("\n");
    expect(lines[0]).toBe(
      "pinbench: tuning loader 1: Samples, 100000 samples; the script has 0 workers, not pinned",
    );
    expect(stderr).toMatch(/^pinbench: 0 workers, not pinned: [\d.]+ batches\/s, waits \d+ %$/m);
    expect(stderr).toMatch(/^pinbench: 2 workers, not pinned: [\d.]+ batches\/s, waits \d+ %$/m);
    // Only of the script's own settings.
    expect(lines.filter((line) => /^pinbench: (no loader|a loader without)/.test(line))).toHaveLength(1);
    expect(lines).toContain(ended);
    expect(stderr).toMatch(/^=> num_workers=[12] pin_memory=False /m);
    const tuning = saved(file);
    expect(tuning.probe).toMatchObject({
      kind: "live",
      source: "loader 1: Samples, 100000 samples",
      device: null,
      batch: { samples: 4, bytes: 256, description: "float32 [4, 16]" },
      epochBatches: 25000,
      startingPoint: { numWorkers: 0, pinMemory: false, nonBlocking: false },
      stepNs: null,
    });
    const byWorkers = tuning.tried.find(({ setting }) => setting.numWorkers === 2)!;
    const [trial] = byWorkers.trials;
    expect(trial).toMatchObject({ failure: null, copyNsPerBatch: null, pinnedBytes: null });
    // A batch is four samples of 4 ms each, wherever it is made.
    expect(trial!.makeNsPerBatch).toBeGreaterThan(16e6);
    expect(trial!.collateNsPerBatch).toBeGreaterThan(0);
    expect(trial!.collateNsPerBatch).toBeLessThan(trial!.makeNsPerBatch!);
    expect(trial!.handOverNsPerBatch).toBeGreaterThan(0);
    expect(stderr).toMatch(
      /^=> With \d workers?, a batch takes \w+ worker [\d.]+ ms: [\d.]+ ms samples, [\d.]+ ms collate, [\d.]+\s/m,
    );
    expect(trial!.workerPrivateBytes).toBeGreaterThan(0);
    await expectNothingLeft(run);
  });

  it.each([
    ["a shell script", ["sh", "one_pass.sh"]],
    ["a module", [warmPython, "-m", "training"]],
  ])(
    "with --go %s goes on to its own end, and its output and exit code are pinbench's",
    async (_, command) => {
      const args = ["--epochs", "3", "--length", "2400", "--exit", "9"];
      const run = await tune([...command, ...args], "--go", "--budget", "2s");
      const { exitCode, stdout, stderr } = run;
      const epochs = epochLines(3, 2400);
      expect({ exitCode, stdout }, stderr).toEqual({
        exitCode: 9,
        stdout: command[0] === "sh" ? `before\n${epochs}` : epochs,
      });
      expect(stderr).toMatch(/^=> num_workers=/m);
      expect(stderr).not.toContain(ended);
      await expectNothingLeft(run);
    },
  );

  it("changes all ranks of torchrun, and shares the CPUs out among them", async () => {
    const file = join(folder(), "tuning.json");
    // Their stdout goes to a file: this torch, with a newer Python, cannot leave it alone.
    const torchrun = ["-m", "torch.distributed.run", "--nproc_per_node", "2", "-r", "1", "-t", "1"];
    // Without Python of its own, the ranks need not import torch anew either.
    const ranks = ["--log_dir", folder(), "--no_python", ...training("--length", "100000")];
    const command = [warmPython, ...torchrun, ...ranks];
    const run = await tune(command, "--output", file);
    expect(run.exitCode, run.stderr).toBe(0);
    const tuning = saved(file);
    expect(tuning.machine.ranks).toBe(2);
    expect(Math.max(...tuning.tried.map(({ setting }) => setting.numWorkers))).toBeGreaterThan(0);
    for (const { trials } of tuning.tried) for (const trial of trials) expect(trial.failure).toBeNull();
    await expectNothingLeft(run);
  });
});

describe.concurrent("a job that ends before the search does", () => {
  it("leaves what was found, and is not cut short in what it does afterwards", async () => {
    const file = join(folder(), "tuning.json");
    const job = `${process.execPath} fake_job.mjs '{"endsAt": 150}'; echo "the rest"; exit 3`;
    const flags = ["--output", file, "--budget", "60s", "--max-workers", "12"];
    const run = await tune(["sh", "-c", job], ...flags);
    const { exitCode, stdout, stderr } = run;
    expect({ exitCode, stdout }, stderr).toEqual({ exitCode: 0, stdout: "the rest\n" });
    expect(stderr).toContain("! the job ended before the search: these results were measured before that");
    expect(stderr).toContain("pinbench: the command ended with exit code 3.\n");
    expect(saved(file).run.status).toBe("ended");
    await expectNothingLeft(run);
  });
});

describe.concurrent("a job that cannot be tuned is named for what it is", { timeout: 120_000 }, () => {
  skipWithoutTorch();

  it("if it iterates no DataLoader", async () => {
    const { exitCode, stdout, stderr } = await tune([testPython, "-c", "print('nothing to do')"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: "nothing to do\n" });
    expect(stderr).toMatch(
      /^pinbench: The command ended with exit code 0, and has iterated no DataLoader that pinbench could see\. pinbench needs PYTHONPATH, .*\n$/,
    );
  });

  it("if it dies, or fails", async () => {
    const killed = await tune(["sh", "-c", "kill -KILL $$"]);
    expectSentence(killed, 4, /The command was killed \(SIGKILL\) before it iterated a DataLoader\./);
    const failed = await tune(["sh", "-c", "exit 5"]);
    expectSentence(failed, 4, /The command ended with exit code 5 before it iterated a DataLoader\./);
  });

  it("if nothing happens", async () => {
    const isolated = await tune(
      [testPython, "-I", "-c", "import time; time.sleep(100)"],
      "--timeout",
      "250ms",
    );
    expect(isolated.exitCode).toBe(4);
    expect(isolated.stderr).toMatch(
      /^pinbench: The command has iterated no DataLoader within 1 s\. \S+ was started with -I, which keeps pinbench out: Python must read PYTHONPATH/m,
    );
    const asleep = await tune(["sleep", "100"], "--timeout", "250ms");
    expectSentence(asleep, 4, /within 1 s\. None of its processes is a Python that pinbench can look into\./);
    await expectNothingLeft(isolated);
    await expectNothingLeft(asleep);
  });

  it("if it hangs", async () => {
    const run = await tune(
      [process.execPath, "fake_job.mjs", '{"hangsAt": 150}'],
      ...["--timeout", "2s", "--budget", "60s", "--max-workers", "12"],
    );
    const { exitCode, stderr } = run;
    expect(stderr).toMatch(
      /The training loop took no further batch within 2 s with \d+ workers?, not pinned\./,
    );
    expect([0, 4]).toContain(exitCode);
    await expectNothingLeft(run);
  });

  it("if its data set raises, which the script hears of as ever", async () => {
    const { exitCode, stderr } = await tune(training("--bad-sample", "10"));
    expect(exitCode).toBe(4);
    expect(stderr).toContain("ValueError: sample 10 is bad\n");
    expect(stderr).toMatch(
      /pinbench: The command ended with exit code 1 before anything could be measured\./,
    );
  });
});

it.concurrent("with --go a job that cannot be tuned runs on, and pinbench exits as it does", {
  timeout: 60_000,
}, async () => {
  const script = { loader: { untouchable: "its type makes iterators of its own" } };
  const end = join(folder(), "end");
  const job = `${process.execPath} fake_job.mjs '${JSON.stringify(script)}' &
    until [ -e '${end}' ]; do sleep 0.1; done; kill $!; exit 6`;
  const { child, finished } = startTune(["sh", "-c", job], ["--go", "--timeout", "500ms"]);
  child.stderr?.on("data", (text: string) => {
    if (text.includes("cannot be tuned")) writeFileSync(end, "");
  });
  const { exitCode, stderr } = await finished;
  expect(exitCode, stderr).toBe(6);
  expect(stderr).toMatch(/^pinbench: Loader 1 cannot be tuned: its type makes iterators of its own\./m);
});

describe.concurrent("a call that makes no sense", () => {
  it("leaves flags after -- to the command, --quiet and --version too", async () => {
    const { exitCode, stdout } = await tune(["echo", "--quiet", "--version", "--budget"], "--go");
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "--quiet --version --budget\n" });
  });
});
