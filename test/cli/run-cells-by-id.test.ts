import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Plan } from "../../src/plan/plan.js";
import { parseResult } from "../../src/results/parse.js";
import { configFile, folderOf } from "../helpers/config.js";
import { callCli } from "../helpers/in-process.js";
import { type Finished, pinbench, start, temporaryFolder } from "../helpers/run-cli.js";

const run = ["run", "--backend", "emulated", "--llc", "1MiB", "--samples", "6", "--quiet"];
const dryRun = [...run, "--dry-run", "--json"];

/** No product of axes: two sizes, two memory kinds, two directions, two worker counts, but two cells and a control. */
const pageable = "d0/h2d/pageable/4096/w1/throughput/wall/cold";
const control = "d0/h2d/host/4096/w1/throughput/wall/cold";
const pinned = "d0/d2h/pinned/65536/w2/latency/wall/warm";

function planned({ exitCode, stdout, stderr }: Finished): string[] {
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return (JSON.parse(stdout) as Plan).cells.map(({ id }) => id);
}

/** `--cells -`, with stdin as bash gives it: a file, or a pipe. */
function runWithStdin(shell: string, args: readonly string[], cwd = temporaryFolder()): Promise<Finished> {
  const env = { NODE: process.execPath, PINBENCH: pinbench };
  const line = shell.replace("pinbench", '"$NODE" "$PINBENCH" "$@"');
  return start("bash", ["-c", line, "bash", ...args, "--cells", "-"], { cwd, env }).finished;
}

describe("pinbench run --cells", () => {
  it("measures exactly these cells, and the control of host memory, in the order of any plan", async () => {
    const { exitCode, stdout, stderr } = await callCli([
      ...run,
      "--json",
      "--cells",
      `${pinned},${pageable}`,
    ]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const document = parseResult(stdout);
    expect(document.cells.map(({ id }) => id)).toEqual([pageable, control, pinned]);
    expect(document.plan).toMatchObject({ preset: null, numa: "local", cells: 3 });
    for (const { id, outcome, stats } of document.cells) {
      expect(outcome, id).toMatch(/^(converged|budget)$/);
      expect(stats[0]?.samples, id).toBeGreaterThanOrEqual(6);
    }
  });

  it("is planned by --dry-run", async () => {
    expect(planned(await callCli([...dryRun, "--cells", `${pinned}, ${pageable}, ${pinned}`]))).toEqual([
      pageable,
      control,
      pinned,
    ]);
    const { stdout } = await callCli([...run, "--dry-run", "--cells", pinned]);
    expect(stdout).toMatch(/ {2}Cells +1 cell, preset none\n/);
  });

  it("reads them from stdin for -, be that a pipe or a file", async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "ids"), `${pinned}\n\n${pageable}\r\n`);
    expect(planned(await runWithStdin("pinbench < ids", dryRun, cwd))).toEqual([pageable, control, pinned]);
    expect(planned(await runWithStdin("cat ids | pinbench", dryRun, cwd))).toEqual([
      pageable,
      control,
      pinned,
    ]);
  });

  it("takes as many from there as a run measures, which no argument holds", async () => {
    const cwd = temporaryFolder();
    const ids = Array.from({ length: 20_000 }, (_, i) => `d0/h2d/pinned/${i + 1}/w1/throughput/wall/warm`);
    writeFileSync(join(cwd, "ids"), ids.join("\n"));
    expect(planned(await runWithStdin("cat ids | pinbench", dryRun, cwd))).toEqual(ids);
  });

  it("wins over the configuration, from which it takes how to measure", async () => {
    const plan = { preset: "quick", sizes: "1MiB", memory: "pinned", device: "3", workers: 9, budget: "1s" };
    const cwd = folderOf({ [configFile]: { plan: { ...plan, mode: "latency", cache: "warm", seed: 7 } } });
    const finished = await callCli([...dryRun, "--cells", pageable], { cwd });
    expect(planned(finished)).toEqual([pageable, control]);
    expect(JSON.parse(finished.stdout)).toMatchObject({
      preset: null,
      seed: 7,
      stopping: { budgetNs: 1e9 },
    });
  });
});

describe("is wrong usage", () => {
  const expectRefusal = ({ exitCode, stdout, stderr }: Finished, sentence: RegExp) => {
    expect(stderr).toMatch(sentence);
    expect(stderr).toMatch(/^pinbench: [^\n]+\n$/);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  };

  it("with a stdin that has no end", async () => {
    expectRefusal(await runWithStdin("pinbench < /dev/zero", run), /stdin holds more than 16 MiB/);
  });
});
