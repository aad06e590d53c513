import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Tuning, tuningSchema } from "../../src/results/tuning.js";
import { expectSentence } from "../helpers/baseline-folder.js";
import { coldTraining, expectNothingLeft, folder, training, tune } from "../helpers/live-job.js";
import { pinbench } from "../helpers/run-cli.js";
import { tuningSchemaErrors } from "../helpers/schema-errors.js";
import { skipWithoutTorch, testPython, warmPython } from "../helpers/test-python.js";

const ended = "pinbench: the search is done: the command is ended.";

/** What pinbench says after its announcement of the run. */
const said = ({ stderr }: { stderr: string }) => stderr.replace(/^pinbench: runs your command .*\n/, "");

/** What was saved, checked as every reader checks it. */
function saved(path: string): Tuning {
  const document = JSON.parse(readFileSync(path, "utf8")) as unknown;
  expect(tuningSchemaErrors(document)).toBeNull();
  return tuningSchema.parse(document);
}

const epochLines = (count: number, samples: number) =>
  Array.from({ length: count }, (_, epoch) => `epoch ${epoch}: ${samples} samples\n`).join("");

describe.concurrent("pinbench tune -- COMMAND", () => {
  skipWithoutTorch();

  it("tunes a running script, reports on stderr, and ends the script", async () => {
    const file = join(folder(), "tuning.json");
    // A sample takes much longer than a worker's overhead, even on a busy machine.
    const run = await tune(
      coldTraining("--length", "100000", "--cost", "0.004"),
      "--output",
      file,
      "--budget",
      "15s",
      "--all",
    );
    const { exitCode, stdout, stderr } = run;
    expect({ exitCode, stdout }, stderr).toEqual({ exitCode: 0, stdout: "" });
    const lines = stderr.split("\n");
    expect(lines[0]).toBe(
      "pinbench: runs your command for up to 15 s to try settings, then ends it. Use --go to start it afresh with the best. What it writes until then is really written.",
    );
    expect(lines[1]).toBe(
      "pinbench: tuning loader 1: Samples, 100000 samples; the script has 0 workers, not pinned",
    );
    expect(lines[2]).toBe("pinbench: trying 0 workers, not pinned");
    expect(stderr).toMatch(
      /^pinbench: trying 2 workers, not pinned; best so far: \d workers?, not pinned, [\d.]+ batches\/s$/m,
    );
    expect(lines).toContain(ended);
    expect(stderr).toMatch(/^=> num_workers=\d (prefetch_factor=\d )?persistent_workers=/m);
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
    expect(stderr).toMatch(/^ {2}a batch (made|in one) .* samples +[\d.]+ ms/m);
    expect(trial!.workerPrivateBytes).toBeGreaterThan(0);
    await expectNothingLeft(run);
  });

  it.each([
    ["a shell script", ["sh", "one_pass.sh"]],
    ["a module", [warmPython, "-m", "training"]],
  ])("with --go restarts %s, and passes on its output and exit code", async (_, command) => {
    const args = ["--epochs", "3", "--length", "2400", "--exit", "9"];
    const run = await tune([...command, ...args], "--go", "--budget", "2s");
    const { exitCode, stdout, stderr } = run;
    const epochs = epochLines(3, 2400);
    expect(exitCode, stderr).toBe(9);
    // The search printed one epoch at most.
    expect(stdout).toMatch(/(before\n)?(epoch 0: 2400 samples\n){1,2}epoch 1/);
    expect(stdout.endsWith(command[0] === "sh" ? `before\n${epochs}` : epochs)).toBe(true);
    expect(stderr).toMatch(/^=> num_workers=/m);
    expect(stderr).toMatch(/^pinbench: the command is started afresh with \d workers?, not pinned/m);
    expect(stderr).not.toContain("no such loader");
    await expectNothingLeft(run);
  });

  it("with --go changes no setting if the restarted command makes another loader", async () => {
    const script = `if [ "$PINBENCH_TUNE" != search ]; then set -- "$@" --stream --length 100; fi; exec "$@"`;
    const command = ["sh", "-c", script, "sh", warmPython, "-m", "training"];
    const { exitCode, stdout, stderr } = await tune(command, "--go", "--budget", "2s");
    expect(exitCode, stderr).toBe(0);
    expect(stdout).toContain("epoch 0: 100 samples\n");
    expect(stderr).toContain("pinbench: the command made no such loader: nothing was changed.\n");
  });

  it("tunes all ranks of torchrun together", async () => {
    const file = join(folder(), "tuning.json");
    // Their stdout goes to a file: this torch, with a newer Python, cannot leave it alone.
    const torchrun = ["-m", "torch.distributed.run", "--nproc_per_node", "2", "-r", "1", "-t", "1"];
    // Without Python of its own, the ranks need not import torch anew either.
    const ranks = ["--log_dir", folder(), "--no_python", ...training("--length", "100000")];
    const command = [warmPython, ...torchrun, ...ranks];
    const run = await tune(command, "--output", file, "--budget", "15s");
    expect(run.exitCode, run.stderr).toBe(0);
    const tuning = saved(file);
    expect(tuning.machine.ranks).toBe(2);
    expect(Math.max(...tuning.tried.map(({ setting }) => setting.numWorkers))).toBeGreaterThan(0);
    for (const { trials } of tuning.tried) for (const trial of trials) expect(trial.failure).toBeNull();
    await expectNothingLeft(run);
  });
});

describe.concurrent("a training job that ends before pinbench tune has finished its search", () => {
  it("still finishes its own work, and the results so far are saved", async () => {
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

describe.concurrent("pinbench tune gives the reason if it cannot tune a job", () => {
  skipWithoutTorch();

  it("that iterates no DataLoader", async () => {
    const run = await tune([testPython, "-c", "print('nothing to do')"]);
    expect(run).toMatchObject({ exitCode: 4, stdout: "nothing to do\n" });
    expect(said(run)).toMatch(
      /^pinbench: The command ended with exit code 0, and has iterated no DataLoader that pinbench could see\. Only torch's DataLoader is seen, .*\n$/,
    );
  });

  it("that is killed, or fails", async () => {
    const killed = await tune(["sh", "-c", "kill -KILL $$"]);
    expectSentence(
      { ...killed, stderr: said(killed) },
      4,
      /The command was killed \(SIGKILL\), and has iterated no DataLoader that pinbench could see\./,
    );
    const failed = await tune(["sh", "-c", "exit 5"]);
    expectSentence(
      { ...failed, stderr: said(failed) },
      4,
      /The command ended with exit code 5, and has iterated no DataLoader that pinbench could see\./,
    );
  });

  it("that iterates no DataLoader within --timeout", async () => {
    const isolated = await tune(
      [testPython, "-I", "-c", "import time; time.sleep(100)"],
      "--timeout",
      "250ms",
    );
    expect(isolated.exitCode).toBe(4);
    expect(isolated.stderr).toMatch(
      /^pinbench: The command has iterated no DataLoader within 250 ms\. \S+ was started with -I, which keeps pinbench out: Python must read PYTHONPATH/m,
    );
    const asleep = await tune(["sleep", "100"], "--timeout", "250ms");
    expectSentence(
      { ...asleep, stderr: said(asleep) },
      4,
      /within 1 s\. None of its processes is a Python that pinbench can look into\./,
    );
    await expectNothingLeft(isolated);
    await expectNothingLeft(asleep);
  });

  it("that hangs", async () => {
    const run = await tune(
      [process.execPath, "fake_job.mjs", '{"hangsAt": 150}'],
      ...["--timeout", "2s", "--budget", "60s", "--max-workers", "12"],
    );
    const { exitCode, stderr } = run;
    expect(stderr).toMatch(/No further batch came within 2 s with \d+ workers?, not pinned\./);
    expect([0, 4]).toContain(exitCode);
    await expectNothingLeft(run);
  });

  it("whose data set raises, and the script still gets the exception", async () => {
    const { exitCode, stderr } = await tune(training("--bad-sample", "10"));
    expect(exitCode).toBe(4);
    expect(stderr).toContain("ValueError: sample 10 is bad\n");
    expect(stderr).toMatch(
      /pinbench: The command ended with exit code 1 before anything could be measured\./,
    );
  });
});

describe.concurrent("pinbench tune keeps a script from publishing a training that it has ended", () => {
  skipWithoutTorch();

  const train = training("--length", "100000").join(" ");
  it.each([
    ["sh", "TRAIN && touch published"],
    ["sh", "TRAIN; touch published"],
    ["bash", "set -e; TRAIN --stubborn; touch published"],
    ["bash", "TRAIN || true; touch published"],
    [testPython, `import subprocess; subprocess.run("TRAIN", shell=True); open("published", "w")`],
  ])("in %s -c '%s'", async (program, script) => {
    const published = join(folder(), "published");
    const command = script.replace("TRAIN", train).replaceAll("published", published);
    const run = await tune([program, "-c", command], "--budget", "1s");
    expect(run.exitCode, run.stderr).toBe(0);
    expect(existsSync(published)).toBe(false);
    await expectNothingLeft(run);
  });
});

describe.concurrent("pinbench tune --go", () => {
  skipWithoutTorch();

  const job = (then: string) => [
    "sh",
    "-c",
    `${training("--epochs", "2", "--length", "1000").join(" ")}; ${then}`,
  ];

  it("does not restart a command that has ended by itself", async () => {
    const { exitCode, stdout, stderr } = await tune(job("exit 6"), "--go", "--budget", "60s");
    expect({ exitCode, stdout }, stderr).toEqual({ exitCode: 6, stdout: epochLines(2, 1000) });
    expect(stderr).toContain("pinbench: the command has ended by itself: it is not started again.\n");
  });

  const train = training("--epochs", "4").join(" ");
  it.each([
    [
      "--go",
      train,
      1,
      /model\.pt is a checkpoint that the search wrote, from which the command may go on: it is/,
    ],
    ["--go", `${train} &`, 1, /model\.pt is a checkpoint that the search wrote/],
    ["--go --timeout 250ms", "sleep 100 &", 1, /model\.pt is a checkpoint that the search wrote/],
    ["--go=anyway", train, 0, /the command is started afresh/],
  ])(
    "given as %s to %s exits with %i if that wrote a checkpoint",
    async (flags, script, exitCode, message) => {
      const out = folder();
      const command = `touch ${out}/model.pt ${out}/log.txt; ${script}`;
      const run = await tune(["sh", "-c", command, out], ...flags.split(" "), "--budget", "1s");
      expect(run.exitCode, run.stderr).toBe(exitCode);
      expect(run.stderr).toMatch(
        /the search made or changed .*(model\.pt and .*log\.txt|log\.txt and .*model\.pt)/,
      );
      expect(run.stderr).toMatch(message);
    },
  );

  it("refuses input from a pipe, because it starts the command twice", () => {
    const piped = `echo lines | "${process.execPath}" "${pinbench}" tune --go -- cat; exit 0`;
    const { stderr, stdout } = spawnSync("sh", ["-c", piped], { encoding: "utf8" });
    expect(stdout).toBe("");
    expect(stderr).toMatch(
      /^pinbench: --go starts the command twice, and its standard input can be read once\./,
    );
  });
});

describe.concurrent("flags after -- of pinbench tune", () => {
  it("belong to the command, --quiet and --version too", async () => {
    const { exitCode, stdout } = await tune(["echo", "--quiet", "--version", "--budget"], "--go");
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "--quiet --version --budget\n" });
  });
});
