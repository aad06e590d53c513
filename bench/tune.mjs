// `node bench tune [--python python3] [--sets cheap_sample,tiny_text] [--max-workers N] [--no-grid]
// [--native] [--output FILE]`: the recommendation of `pinbench tune`, compared on the same data with the full grid and
// with the search that articles propose. Each compared setting is then measured again, in turns.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describeSetting } from "../dist/results/loader-setting.js";
import { machineLimits } from "../dist/tune/machine-limits.js";
import { openTorchProbe } from "../dist/tune/torch/torch-probe.js";
import { tuneLoader } from "../dist/tune/tune-loader.js";
import { fixed, printTable, ratioText, verdict } from "./lib/table.mjs";
import { articleSearch, articleSetting } from "./tune/article.mjs";
import { measureGrid } from "./tune/grid.mjs";
import { remeasure } from "./tune/remeasure.mjs";

const { values } = parseArgs({
  options: {
    python: { type: "string", default: "python3" },
    sets: {
      type: "string",
      default: "cheap_sample,uint8_to_float_sample,heavier_sample,tiny_text,jpeg_files",
    },
    "batch-size": { type: "string", default: "64" },
    "max-workers": { type: "string" },
    turns: { type: "string", default: "4" },
    bound: { type: "string", default: "0.97" },
    "no-grid": { type: "boolean", default: false },
    "no-article": { type: "boolean", default: false },
    output: { type: "string" },
  },
});

const bound = Number(values.bound);
const maxWorkers = values["max-workers"] === undefined ? null : Number(values["max-workers"]);
const never = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), "pinbench-tune-"));
process.env.PINBENCH_BENCH_FOLDER = folder;

function request() {
  return {
    limits: machineLimits(1),
    maxWorkers,
    budgetNs: 60e9,
    timeoutNs: 60e9,
    argv: [],
    startedAt: new Date(),
    startedMs: performance.now(),
  };
}

async function runSet(name) {
  const data = {
    python: values.python,
    torch: `${import.meta.dirname}/tune/datasets.py:${name}`,
    batchSize: Number(values["batch-size"]),
  };
  const probe = await openTorchProbe({
    ...data,
    step: null,
    rank: null,
    coldFolder: null,
    timeoutNs: 60e9,
    signal: never,
  });
  try {
    const found = await tuneLoader(probe, request(), never);
    const grid = values["no-grid"] ? null : await measureGrid(probe, request(), never);
    const article = values["no-article"] ? null : await articleSearch(data);
    const chosen = found.recommendation.setting;
    const settings = {
      chosen,
      ...(grid && { gridBest: fastestOf(grid).setting }),
      ...(article && { article: articleSetting(article.picks) }),
    };
    const rates = await remeasure(probe, settings, Number(values.turns));
    return { name, found, grid, article, settings, rates };
  } finally {
    await probe.close();
  }
}

function fastestOf({ tried }) {
  const scored = tried.filter(({ score }) => score !== null);
  return scored.reduce((best, one) =>
    one.score.batchesPerSecond > best.score.batchesPerSecond ? one : best,
  );
}

const results = [];
try {
  for (const name of values.sets.split(",")) {
    const result = await runSet(name);
    results.push(result);
    for (const [what, tuning] of Object.entries({ search: result.found, grid: result.grid })) {
      if (tuning === null) continue;
      console.log(`\n${name}, ${what}, ${fixed(tuning.run.searchNs / 1e9, 1)} s:`);
      for (const { setting, score, trials } of tuning.tried) {
        const last = trials.at(-1);
        const rate =
          score === null
            ? last.failure?.message
            : `${fixed(score.batchesPerSecond, 1)} [${fixed(score.low ?? 0, 1)}, ${fixed(score.high ?? 0, 1)}]`;
        const spent = trials.map(({ arrivalsNs }) => fixed((arrivalsNs.at(-1) ?? 0) / 1e9, 2)).join("+");
        console.log(
          `  ${describeSetting(setting)}: ${rate}, ${spent} s, waits ${fixed((last.waitNsPerBatch ?? 0) / 1e6)} ms, copies ${fixed((last.copyNsPerBatch ?? 0) / 1e6)} ms`,
        );
      }
    }
  }
} finally {
  rmSync(folder, { recursive: true });
}

const seconds = ({ run }) => run.searchNs / 1e9;
printTable(
  `chosen by \`pinbench tune\`, measured again in turns with the fastest of the grid; the ratio must be at least ${bound}`,
  ["data set", "chosen", "batches/s", "fastest of the grid", "batches/s", "ratio", ""],
  results.flatMap(({ name, settings, rates }) => {
    if (rates.gridBest === undefined) return [];
    const ratio = rates.chosen.mean / rates.gridBest.mean;
    return [
      [
        name,
        describeSetting(settings.chosen),
        fixed(rates.chosen.mean, 1),
        describeSetting(settings.gridBest),
        fixed(rates.gridBest.mean, 1),
        ratioText(ratio),
        verdict(ratio >= bound),
      ],
    ];
  }),
);
printTable(
  "the search's time, and the article's search on the same data",
  ["data set", "search, s", "trials", "article, s", "its pick", "batches/s", "chosen/pick", "time/article"],
  results.flatMap(({ name, found, article, settings, rates }) => {
    if (article === null) return [];
    const trials = found.tried.reduce((sum, one) => sum + one.trials.length, 0);
    return [
      [
        name,
        fixed(seconds(found), 1),
        trials,
        fixed(article.took_s, 1),
        describeSetting(settings.article),
        fixed(rates.article.mean, 1),
        ratioText(rates.chosen.mean / rates.article.mean),
        fixed(seconds(found) / article.took_s),
      ],
    ];
  }),
);
if (values.output) writeFileSync(values.output, `${JSON.stringify(results.map(summary), null, 1)}\n`);

/** Omits the arrival times, which are many. */
function summary({ name, found, grid, article, settings, rates }) {
  const rows = (tuning) =>
    tuning && {
      seconds: seconds(tuning),
      probe: tuning.probe,
      tried: tuning.tried.map(({ setting, score, trials }) => ({
        setting,
        score,
        trials: trials.map(({ arrivalsNs, ...trial }) => ({ batches: arrivalsNs.length, ...trial })),
      })),
    };
  return { name, search: rows(found), grid: rows(grid), article, settings, rates };
}
