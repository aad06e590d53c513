// Time of a default sweep by part: samples, native calls around them, and TypeScript.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { prepareRun } from "../../dist/measure/prepare.js";
import { Run } from "../../dist/measure/run.js";
import { fillRunSettings } from "../../dist/settings/settings.js";

const cli = fileURLToPath(new URL("../../bin/pinbench.js", import.meta.url));

export async function sweepShares(backendName, flags) {
  return [wholeProcess(backendName, flags), await typescriptShare(backendName)];
}

/** Samples of different cells never overlap, so the sum of their durations is the time spent in samples. */
function wholeProcess(backendName, flags) {
  const started = performance.now();
  const child = spawnSync(
    process.execPath,
    [cli, "run", "--json", "--quiet", "--backend", backendName, ...flags],
    {
      encoding: "utf8",
      maxBuffer: 1 << 28,
    },
  );
  const wallMs = performance.now() - started;
  if (child.status !== 0) throw new Error(`pinbench run ended with ${child.status}: ${child.stderr}`);
  const { cells } = JSON.parse(child.stdout);
  const sampleMs = cells.reduce((sum, { samples }) => sum + sampleTimeMs(samples), 0);
  const value = 1 - sampleMs / wallMs;
  return {
    name: "time outside samples / wall time of a sweep",
    value,
    bound: "at most 0.4",
    reached: value <= 0.4,
    from: `${cells.length} cells: ${(sampleMs / 1000).toFixed(2)} s of ${(wallMs / 1000).toFixed(2)} s in samples`,
  };
}

/** The directions of a bidir cell run at the same time, so the longer one counts. */
function sampleTimeMs(samples) {
  const [first] = samples;
  const longest = first?.durationNs.map((_, i) =>
    Math.max(...samples.map(({ durationNs }) => durationNs[i])),
  );
  return (longest ?? []).reduce((sum, ns) => sum + ns / 1e6, 0);
}

/** Share of time outside native calls during the rounds: deciding, statistics, waiting. */
async function typescriptShare(backendName) {
  const given = {
    backend: backendName,
    sizesBytes: [4096, 16384, 65536, 262144],
    workers: [1, 2],
    budgetNs: 0,
  };
  const prepared = await prepareRun(fillRunSettings({ origin: "caller", given }));
  const { backend, plan } = prepared;
  const clock = { nativeMs: 0, firstMs: 0, lastMs: 0 };
  const run = new Run({
    ...prepared,
    argv: [],
    startedAt: new Date(),
    startedMs: performance.now(),
    backend: { ...backend, driver: timedDriver(backend.driver, clock) },
  });
  for await (const _ of run.measure(new AbortController().signal));
  const value = (clock.lastMs - clock.firstMs - clock.nativeMs) / plan.cells.length;
  return {
    name: "TypeScript's share, ms a cell",
    value,
    bound: "at most 1",
    reached: value <= 1,
    from: `${plan.cells.length} cells, 6 samples in 3 rounds each`,
  };
}

function timedDriver(driver, clock) {
  return {
    initialize: () => driver.initialize(),
    openSession: async (options) => {
      const session = await driver.openSession(options);
      const measure = session.measure;
      session.measure = async (request) => {
        const started = performance.now();
        clock.firstMs ||= started;
        const result = await measure(request);
        clock.lastMs = performance.now();
        clock.nativeMs += clock.lastMs - started;
        return result;
      };
      return session;
    },
  };
}
