import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { prepareRun } from "../../src/measure/prepare.js";
import { ProcessSeries } from "../../src/measure/process-series.js";
import type { Requested } from "../../src/settings/setting.js";
import { fillRunSettings } from "../../src/settings/settings.js";
import type { runSettings } from "../../src/settings/table.js";
import { buildCell, buildDocument } from "../helpers/result-document.js";
import { temporaryFolder } from "../helpers/run-cli.js";

/**
 * A program in pinbench's place: the n-th process (from 1) writes a result of 10 n GB/s after it has done what `before`
 * says, which may look at `n`.
 */
function program(before: string): string {
  const folder = temporaryFolder();
  const path = join(folder, "program.mjs");
  for (const n of [1, 2, 3]) {
    writeFileSync(join(folder, `${n}.json`), JSON.stringify(documentAt(10 * n)));
  }
  writeFileSync(
    path,
    `import { existsSync, readFileSync, writeFileSync } from "node:fs";
    let n = 1;
    while (existsSync(new URL("started-" + n, import.meta.url))) ++n;
    writeFileSync(new URL("started-" + n, import.meta.url), "");
    let text = readFileSync(new URL(n + ".json", import.meta.url), "utf8");
    ${before};
    process.stdout.write(text);`,
  );
  return path;
}

const documentAt = (GBps: number) => buildDocument({ backend: "emulated", cells: [buildCell({ GBps })] });

async function seriesOf(
  processes: number,
  entry: string,
  asked: Requested<typeof runSettings> = { cells: [buildCell().id] },
) {
  const values = { backend: "emulated", ...asked } as const;
  const prepared = await prepareRun(fillRunSettings({ origin: "caller", values }));
  const { signal } = new AbortController();
  const call = { argv: [], startedAt: new Date(), startedMs: performance.now() };
  const series = new ProcessSeries({ ...call, ...prepared, sharing: null }, processes);
  const done: number[] = [];
  const document = async () => {
    for await (const _ of series.measure(entry, signal)) done.push(series.done);
    return series.document();
  };
  return { done, document, plan: prepared.plan };
}

describe("a series of processes", () => {
  it("reports before each process, and at the end, how many are done", async () => {
    const { done, document } = await seriesOf(3, program(""));
    const { run, cells } = await document();
    expect(done).toEqual([0, 1, 2, 3]);
    expect(run).toMatchObject({ status: "complete", error: null, finishedAt: expect.any(String) });
    expect(cells[0]?.stats[0]?.bandwidthGBps).toMatchObject({ median: 20, processMedians: [10, 20, 30] });
  });

  it("gives each process the plan's measurable cells and the plan's budget", async () => {
    const entry = program('writeFileSync(new URL("asked-" + n, import.meta.url), readFileSync(0))');
    const asked = {
      preset: "quick",
      memory: ["pageable", "system"],
      precision: 0.07,
    } as const;
    const { document, plan } = await seriesOf(2, entry, asked);
    await document();
    const measurable = plan.cells.filter(({ skipReason }) => skipReason === null).map(({ id }) => id);
    expect(measurable.length).toBeLessThan(plan.cells.length);
    for (const n of [1, 2]) {
      expect(JSON.parse(readFileSync(join(dirname(entry), `asked-${n}`), "utf8"))).toMatchObject({
        ...{ backend: "emulated", cells: measurable, budgetNs: 250e6, precision: 0.07 },
      });
    }
  });

  it("keeps what was measured if a process dies, says which and why, and starts no other", async () => {
    const dies =
      'if (n === 2) process.kill(process.pid, "SIGKILL"); await new Promise((r) => setTimeout(r, n === 2 ? 1e4 : 0))';
    const { done, document } = await seriesOf(3, program(dies));
    const { run, cells } = await document();
    expect(done).toEqual([0, 1, 1]);
    expect(run).toMatchObject({
      status: "failed",
      error: { message: "run 2 of 3: A measuring process was killed (SIGKILL)." },
    });
    expect(cells[0]?.stats[0]?.bandwidthGBps.processMedians).toEqual([10]);
  });

  it("rejects if the first process has no result", async () => {
    const { document } = await seriesOf(3, program('console.error("pinbench: no."); process.exit(3)'));
    await expect(document()).rejects.toMatchObject({ kind: "unavailable", message: "no." });
  });

  it("leaves out a later process that was interrupted", async () => {
    const interrupted = `if (n === 2) { text = text.replace('"status":"complete"', '"status":"aborted"'); process.exitCode = 143 }`;
    const { document } = await seriesOf(3, program(interrupted));
    const { run, cells } = await document();
    expect(run.status).toBe("failed");
    expect(run.error?.message).toMatch(/^run 2 of 3: it was interrupted/);
    expect(cells[0]?.stats[0]?.bandwidthGBps.processMedians).toEqual([10]);
  });

  it("keeps the first process even if it was interrupted, and starts no other", async () => {
    const interrupted = `text = text.replace('"status":"complete"', '"status":"aborted"'); process.exitCode = 143`;
    const { done, document } = await seriesOf(3, program(interrupted));
    const { run, cells } = await document();
    expect(done).toEqual([0, 1]);
    expect(run.status).toBe("failed");
    expect(run.error?.message).toMatch(/^run 1 of 3: it was interrupted/);
    expect(cells[0]?.stats[0]?.bandwidthGBps.processMedians).toEqual([10]);
  });
});
