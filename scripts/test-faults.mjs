// `npm run check -- faults [--write] [--seed N] [FILTER…]`: runs all trials of test/faults and prints a table of the
// number that passed. Without a FILTER and with clang it adds those of `npm run check -- fuzz`. --write puts the table
// into docs/reliability.md. Exit code 0 only if all tests passed.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { main, ScriptError } from "./lib/process.mjs";
import { inRoot, root } from "./lib/project.mjs";
import { clangMissing, findClang } from "./lib/toolchain.mjs";

/** Sums lines of the same name, in the order of first occurrence. */
function addUp(lines) {
  const rows = new Map();
  for (const { what, tried, survived } of lines) {
    const row = rows.get(what) ?? { what, tried: 0, survived: 0 };
    row.tried += tried;
    row.survived += survived;
    rows.set(what, row);
  }
  return [...rows.values()].sort((a, b) => a.what.localeCompare(b.what, "en"));
}

function markdownTable(rows) {
  const count = (number) => number.toLocaleString("en-US");
  const lines = rows.map(({ what, tried, survived }) => `| ${what} | ${count(tried)} | ${count(survived)} |`);
  return ["| trial | times | passed |", "| --- | ---: | ---: |", ...lines].join("\n");
}

/** Replaces the table between two comments of the document. */
function writeInto(path, table) {
  const text = readFileSync(path, "utf8");
  const between = /(<!-- counts begin -->\n)[\s\S]*(<!-- counts end -->)/;
  if (!between.test(text)) throw new ScriptError(`${path} has no markers for the counts.`);
  writeFileSync(
    path,
    text.replace(between, (_, begin, end) => `${begin}${table}\n${end}`),
  );
}

await main(() => {
  const { values, positionals } = parseArgs({
    options: {
      write: { type: "boolean", default: false },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
    },
    allowPositionals: true,
  });
  const folder = mkdtempSync(join(tmpdir(), "pinbench-trials-"));
  const countsFile = join(folder, "counts.jsonl");
  try {
    writeFileSync(countsFile, "");
    console.log(`seed ${values.seed}`);
    const filters = positionals.length > 0 ? positionals : ["test/faults/"];
    const tryAll = (command, args) =>
      spawnSync(command, args, {
        cwd: root,
        stdio: "inherit",
        env: {
          ...process.env,
          PINBENCH_TRIALS: "full",
          PINBENCH_TRIAL_SEED: values.seed,
          PINBENCH_TRIAL_COUNTS: countsFile,
        },
      }).status === 0;
    const fuzz = () =>
      tryAll(process.execPath, [inRoot("scripts/test-fuzz.mjs"), "--seconds", "60", "--seed", values.seed]);
    const results = [tryAll("npx", ["vitest", "run", "--testTimeout=3600000", ...filters])];
    if (positionals.length === 0) {
      if (findClang() === null) console.log(`\nNothing was fuzzed. ${clangMissing}`);
      else results.push(fuzz());
    }
    const lines = readFileSync(countsFile, "utf8").split("\n").filter(Boolean).map(JSON.parse);
    const table = markdownTable(addUp(lines));
    console.log(`\n${table}`);
    if (results.includes(false)) throw new ScriptError("Some tests failed.");
    if (values.write) writeInto(inRoot("docs/reliability.md"), table);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
