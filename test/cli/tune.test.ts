import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Tuning, tuningSchema } from "../../src/results/tuning.js";
import { expectSentence, filesIn } from "../helpers/baseline-folder.js";
import { callCli } from "../helpers/in-process.js";
import { type Finished, memoryLink, runCli, startCli, temporaryFolder } from "../helpers/run-cli.js";
import { tuningSchemaErrors } from "../helpers/schema-errors.js";
import { skipWithoutTorch, testPython, warmPython } from "../helpers/test-python.js";
import { wrapped } from "../helpers/wrapped-target.js";

const data = "--sample 4KiB --batch-size 4".split(" ");
const quick = "--backend emulated --budget 40s --max-workers 2".split(" ");
const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tune/${name}`, import.meta.url));
const withTorch = (target: string, ...args: string[]) => [
  ...["tune", "--torch", isAbsolute(target) ? target : fixture(target)],
  ...["--batch-size", "4", "--python", warmPython],
  ...args,
];

/** With a link so fast that a search ends within its budget, on a busy machine too. */
const tune = (...args: string[]) => callCli(["tune", ...data, ...quick, ...args], { env: memoryLink });

const documentOf = ({ stdout }: Finished) => documentIn(stdout);

function documentIn(text: string): Tuning {
  const document = JSON.parse(text) as unknown;
  expect(tuningSchemaErrors(document)).toBeNull();
  return tuningSchema.parse(document);
}

describe("pinbench tune without torch", () => {
  it("prints a table with a recommendation, and saves the document with --output", async () => {
    const saved = join(temporaryFolder(), "tuning.json");
    const { exitCode, stdout, stderr } = await tune("--output", saved);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^pinbench \S+ tune\n/);
    expect(stdout).toMatch(/^ +0 +no +- +\d+ ±/m);
    expect(stdout).toMatch(/^=> num_workers=[012] pin_memory=(True|False) /m);
    expect(stdout).toContain("emulated device: figures describe this machine's memory, not a GPU\n");
    const tuning = documentIn(readFileSync(saved, "utf8"));
    expect(tuning).toMatchObject({
      run: { status: "complete", argv: expect.arrayContaining(["--sample", "4KiB"]) },
      method: { maxWorkers: 2 },
      probe: { kind: "native", device: "pinbench emulated device 0", batch: { samples: 4, bytes: 16384 } },
    });
    expect(Math.max(...tuning.tried.map(({ setting }) => setting.numWorkers))).toBe(2);
  });

  it.skipIf(existsSync("/proc/driver/nvidia/version"))(
    "reports the emulated device on stderr, and measures it for programs only on request",
    async () => {
      const short = [...data, "--budget", "1s", "--max-workers", "0"];
      const { stdout, stderr } = await callCli(["tune", ...short]);
      expect(stderr).toMatch(/^pinbench: using the emulated device, because .*\.\n/);
      expect(stdout).toContain("\n! emulated device: ");
      for (const flags of [["--json"], ["--format", "env"], ["--format", "python"]]) {
        const { exitCode, stderr: refusal } = await callCli(["tune", ...short, ...flags]);
        expect({ exitCode, refusal }).toMatchObject({
          exitCode: 3,
          refusal: expect.stringContaining("CUDA"),
        });
      }
    },
  );

  it("prints a line of assignments with --format env", async () => {
    const { exitCode, stdout } = await tune(
      "--format",
      "env",
      "--max-workers",
      "1",
      "--budget",
      "1s",
      "--quiet",
    );
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^PINBENCH_NUM_WORKERS=\d PINBENCH_PIN_MEMORY=[01] [^\n]*\n$/);
  });

  it("prints with --json what --output writes", async () => {
    const saved = join(temporaryFolder(), "tuning.json");
    const few = ["--max-workers", "1", "--budget", "1s"];
    const finished = await tune("--json", "--output", saved, ...few);
    expect(readFileSync(saved, "utf8")).toBe(finished.stdout);
    expect(documentOf(finished).tried.length).toBeGreaterThan(1);
  });

  it("reads files from the disk with --cold, and simulates a training step", async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, "images"));
    for (const name of ["a", "b", "c"]) writeFileSync(join(cwd, "images", name), "x".repeat(30_000));
    const args = "--data images --batch-size 2 --cold --step 1ms --max-workers 1 --budget 1s --json";
    const tuning = documentOf(await callCli(["tune", "--backend", "emulated", ...args.split(" ")], { cwd }));
    expect(tuning.probe).toMatchObject({ isCold: true, fileBytesPerBatch: 60_000 });
    // --step FILE:FUNCTION alone has no effect here, and is not what is advised.
    expect(tuning.probe.notes.at(-1)).toMatch(
      /step is simulated.*: --torch and --step FILE:FUNCTION put your own/,
    );
    for (const { trials } of tuning.tried) {
      for (const { makeNsPerBatch } of trials) expect(makeNsPerBatch).toBeGreaterThan(0);
    }
  });

  it("recommends nothing if no batch comes within the budget, and says so", async () => {
    const { exitCode, stdout, stderr } = await tune("--sample", "4KiB,5s", "--budget", "300ms");
    expect(exitCode).toBe(4);
    expect(stdout).toContain("=> no setting could be measured");
    expect(stderr).toBe(
      "pinbench: No setting could be measured: too few batches arrived within the budget. Use --budget 60s, or smaller batches.\n",
    );
  });
});

describe("pinbench tune --json -- COMMAND", () => {
  it("notes that --output keeps the JSON apart from the command's own lines", async () => {
    const note = /^pinbench: the JSON goes to stderr, .* --output FILE\.json keeps it by itself\.$/m;
    const command = ["--", "no-such-command"];
    expect((await callCli(["tune", "--json", ...command])).stderr).toMatch(note);
    expect((await callCli(["tune", "--json", "--output", "a.json", ...command])).stderr).not.toMatch(note);
  });
});

describe("pinbench tune of a torch Dataset", () => {
  skipWithoutTorch();

  it("recommends workers if making a sample consists of waiting", async () => {
    const saved = join(temporaryFolder(), "tuning.json");
    const args = ["--max-workers", "4", "--budget", "30s", "--output", saved, "--format", "env"];
    // Long compared with what a busy machine adds.
    const target = wrapped(fixture("sleeping.py:Sleeping"), { seconds: 0.02 });
    const { exitCode, stdout, stderr } = await runCli(withTorch(target, ...args, "--python", testPython));
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const workers = Number(/^PINBENCH_NUM_WORKERS=(\d+) /.exec(stdout)?.[1]);
    expect(workers).toBeGreaterThanOrEqual(2);
    const tuning = tuningSchema.parse(JSON.parse(readFileSync(saved, "utf8")));
    expect(tuning).toMatchObject({
      probe: { kind: "torch", runtime: expect.stringMatching(/^torch /), batch: { samples: 4 } },
      recommendation: { setting: { numWorkers: workers, persistentWorkers: true }, limit: "workers" },
    });
    // 4 samples of 20 ms a batch: 12.5 a second without workers, and at most as many times that as there are workers.
    expect(tuning.startingScore?.batchesPerSecond).toBeLessThan(13);
    expect(tuning.recommendation!.score.batchesPerSecond).toBeLessThan(1.15 * 12.5 * workers);
  });

  it("reports the exception of a Dataset that raises", async () => {
    const { exitCode, stdout, stderr } = await runCli(
      withTorch("faulty.py:raising", "--budget", "5s", "--max-workers", "1"),
    );
    expect(exitCode).toBe(4);
    expect(stderr).toMatch(/^pinbench: No setting could be measured: .*sample \d+ is bad.*\n$/);
    expect(stderr).toMatch(/faulty\.py:\d+/);
    expect(stdout).toContain("dataset-raised");
    expect(stdout).toContain("=> no setting could be measured");
  });

  it("fails in one sentence before it measures if no batch can be made", async () => {
    expectSentence(await runCli(withTorch("faulty.py:raising_at_once")), 4, /sample \d+ is bad/);
    expectSentence(
      await runCli(["tune", "--torch", fixture("sleeping.py:Sleeping"), "--python", warmPython]),
      2,
      /--batch-size/,
    );
  });
});

it("pinbench tune fails in one sentence if Python has no torch, or if Python or the file is missing", async () => {
  const python = (path: string) => runCli(withTorch("sleeping.py:Sleeping", "--python", path));
  expectSentence(
    await python(fixture("no_torch.sh")),
    3,
    /has no torch\. Name the Python of the training's environment with --python/,
  );
  expectSentence(await python("/nowhere/python3"), 2, /There is no \/nowhere\/python3\./);
  expectSentence(await runCli(withTorch("none.py:make")), 2, /There is no file .*none\.py\./);
});

describe("pinbench tune that Ctrl-C interrupts", () => {
  skipWithoutTorch();

  /** Signals when the data set has written its marker. */
  async function interrupted(target: string, signal: NodeJS.Signals, ...args: string[]): Promise<Finished> {
    const marker = join(temporaryFolder(), "marker");
    const marked = wrapped(fixture(target), { marker });
    const { child, finished } = startCli(withTorch(marked, "--max-workers", "2", ...args));
    while (!existsSync(marker)) {
      if (child.exitCode !== null) throw new Error(`it ended before: ${(await finished).stderr}`);
      await new Promise((done) => setTimeout(done, 20));
    }
    child.kill(signal);
    return finished;
  }

  it("prints the results so far", async () => {
    const { exitCode, stdout, stderr } = await interrupted("sleeping.py:Sleeping", "SIGINT");
    expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: "" });
    expect(stdout).toContain("! interrupted: these results were measured before that\n");
    expect(stdout).toMatch(/^ +0 +no +- +\d+\.\d +±/m);
    expect(stdout).toMatch(/^=> num_workers=\d /m);
  });

  it("ends while the data set is still being made, and keeps the old file", async () => {
    const saved = join(temporaryFolder(), "tuning.json");
    writeFileSync(saved, "before");
    const finished = await interrupted("sleeping.py:opening_takes_long", "SIGINT", "--output", saved);
    const stderr = `pinbench: interrupted, nothing was measured: nothing was written to ${saved}.\n`;
    expect(finished).toMatchObject({ exitCode: 130, stdout: "", stderr });
    expect(filesIn(dirname(saved))).toEqual({ "tuning.json": "before" });
  });
});
