import { cpSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CellResult } from "../../src/results/cell-schema.js";
import { historyPath } from "../../src/results/files/history-file.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { baselineAt, certainly, checkJson, expectSentence, filesIn } from "../helpers/baseline-folder.js";
import { callCli } from "../helpers/in-process.js";
import { temporaryFolder } from "../helpers/run-cli.js";

const onOtherGpu = (document: ResultDocument): ResultDocument => ({
  ...document,
  fingerprint: { ...document.fingerprint, gpu: "NVIDIA L4", kernel: "2.4.0" },
});

/** The first cell of each document, and no other, so changed. */
const withCells =
  (part: Partial<CellResult>) =>
  (document: ResultDocument): ResultDocument => ({
    ...document,
    cells: document.cells.slice(0, 1).map((cell) => ({ ...cell, ...part })),
  });

describe("another machine than the baseline's", () => {
  it("is reported after one run, with exit code 5 and no new baseline", async () => {
    const baseline = await baselineAt(certainly.slower, onOtherGpu);
    const before = filesIn(baseline);
    const { exitCode, stderr, comparison } = await checkJson(baseline, ["--update", "--accept"]);
    expect(exitCode).toBe(5);
    expect(stderr).toBe(
      `pinbench: ${baseline} was not updated: this is another machine, and --allow-mismatch was not given.\n`,
    );
    expect(comparison).toMatchObject({
      outcome: "not comparable",
      candidate: { runs: 1 },
      counts: { "not comparable": 2 },
      differences: [
        { fact: "GPU", baseline: "NVIDIA L4", blocks: true },
        { fact: "kernel", baseline: "2.4.0", blocks: false },
      ],
    });
    expect(filesIn(baseline)).toEqual(before);
  });

  it("is compared all the same with --allow-mismatch, in as many runs as its flag says, beside a faulty history", async () => {
    const baseline = await baselineAt(certainly.slower, onOtherGpu);
    const [config, history] = [join(temporaryFolder(), "config.json"), temporaryFolder()];
    writeFileSync(config, JSON.stringify({ runs: 1 }));
    writeFileSync(historyPath(history), "nonsense\n");
    const more = ["--config", config, "--history", history];
    const { exitCode, stderr, comparison } = await checkJson(baseline, ["--allow-mismatch", ...more]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`line 1 of ${historyPath(history)} is left out: it is not JSON`);
    expect(comparison).toMatchObject({
      outcome: "regression",
      differences: [{ fact: "GPU", blocks: false, isOverruled: true }, { fact: "kernel" }],
      candidate: { runs: 3 },
      counts: { slower: 2 },
    });
  });
});

describe("what is wrong with a request is said before anything is measured", () => {
  it("about a baseline that cannot be measured here, and names it", async () => {
    const refusal = async (change: (document: ResultDocument) => ResultDocument, env = {}) => {
      const cwd = temporaryFolder();
      cpSync(await baselineAt(certainly.faster, change), join(cwd, "main"), { recursive: true });
      return callCli(["check", "--baseline", "main"], { cwd, env });
    };
    const unmeasured: Partial<CellResult> = {
      outcome: "skipped",
      skipReason: "no room",
      samples: [],
      stats: [],
    };
    expectSentence(
      await refusal(withCells(unmeasured)),
      5,
      /: main has no cell with a figure to check against\. Make a baseline with `pinbench baseline`\./,
    );
    expectSentence(
      await refusal(withCells({ id: "d0/up/pinned" })),
      2,
      /: main has the cell "d0\/up\/pinned", which is not a cell id\. Make a baseline with/,
    );
    expectSentence(
      await refusal((document) => ({ ...document, backend: "cuda" }), { PINBENCH_CUDA_LIBRARY: "/none.so" }),
      3,
      /\/none\.so.* main was measured on a GPU: check it on a machine that has one\./,
    );
  });
});
