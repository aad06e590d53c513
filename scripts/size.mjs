// `npm run size [-- REV]`: the size of pinbench by folder (files, lines, long functions, unused exports), and its
// flags, dependencies and npm package. Next to each figure are that of REV (any commit in git) and the difference.
// There are no limits: people judge it.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { main, run, ScriptError } from "./lib/process.mjs";
import { inRoot, root } from "./lib/project.mjs";
import { measuredExtensions, measuresOf, unusedExports } from "./lib/source-measures.mjs";

/** Folders with a row for each subfolder and one for the files in them. */
const divided = ["src", "cuda", "test"];
const whole = ["scripts", "bench", "docs"];

const columns = ["files", "raw", "code", "long", "unused", "tests'"];

/** In docs, pages count too, by their raw lines. */
const isMeasured = (path) => measuredExtensions.has(extname(path)) || /^docs\/.*\.md$/.test(path);

/** The row of a file, or null for a file that counts only as a user of exports. */
function rowOf(path) {
  const [top, second, ...rest] = path.split("/");
  if (divided.includes(top)) return `${top}/${rest.length === 0 ? "*" : second}`;
  return whole.includes(top) ? top : null;
}

function tableOf(folder, paths) {
  const texts = new Map(
    paths.filter(isMeasured).map((path) => [path, readFileSync(join(folder, path), "utf8")]),
  );
  const measures = measuresOf(texts);
  const unused = unusedExports(measures);
  const table = new Map();
  for (const [path, { raw, code, long }] of measures) {
    const row = rowOf(path);
    if (row === null) continue;
    // Users of the library import these, so they count as used.
    const isLibrary = path === "src/index.ts";
    const figures = [
      1,
      raw,
      path.endsWith(".md") ? 0 : code,
      long,
      isLibrary ? 0 : unused.get(path).unused.length,
      isLibrary || path.startsWith("test/") ? 0 : unused.get(path).onlyInTests.length,
    ];
    for (const name of row.includes("/") ? [row, `${row.split("/")[0]}, all`] : [row]) {
      const before = table.get(name) ?? columns.map(() => 0);
      table.set(
        name,
        figures.map((figure, i) => figure + before[i]),
      );
    }
  }
  return table;
}

/** The flags of each command by name; null if REV stores them in another way. Without --help and -V. */
async function flagsOf(folder, scratch) {
  const input = join(folder, "src/settings/command-settings.ts");
  if (!existsSync(input)) return null;
  const { rolldown } = await import("rolldown");
  const bundle = await rolldown({ input, platform: "node", external: [/^[^./]/] });
  const dir = mkdtempSync(join(scratch, "settings-"));
  const { output } = await bundle.write({ dir, entryFileNames: "settings.mjs" });
  await bundle.close();
  const { commandSettings } = await import(pathToFileURL(join(dir, output[0].fileName)));
  const commands = Object.entries(commandSettings).map(([name, table]) => {
    const words = Object.values(table).map(({ flag }) => flag.split(" ")[0].replace(/^--no-/, "--"));
    return [name, new Set(words)];
  });
  return new Map(commands);
}

async function factsOf(folder, scratch) {
  const { scripts, dependencies, devDependencies } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  );
  const count = (object = {}) => Object.keys(object).length;
  const facts = new Map([
    ["npm scripts", count(scripts)],
    ["dependencies at run time", count(dependencies)],
    ["dependencies for development", count(devDependencies)],
  ]);
  const flags = await flagsOf(folder, scratch);
  if (flags === null) return facts;
  facts.set("distinct flags", new Set([...flags.values()].flatMap((words) => [...words])).size);
  for (const [name, { size }] of flags) if (size > 0) facts.set(`flags of ${name}`, size);
  return facts;
}

/** The size of the npm package in bytes as built now, and which of its files are not built. */
async function packed() {
  const args = ["pack", "--dry-run", "--ignore-scripts", "--json"];
  const [{ size, files }] = JSON.parse(await run("npm", args, { cwd: root, capture: true }));
  const wanted = JSON.parse(readFileSync(inRoot("package.json"), "utf8")).files;
  const missing = wanted.filter(
    (name) => !files.some(({ path }) => path === name || path.startsWith(`${name}/`)),
  );
  return { size, missing };
}

/** Aligns the cells in columns: the first column left, the others right. */
function printed(lines) {
  const widths = lines[0].map((_, i) => Math.max(...lines.map((cells) => cells[i].length)));
  return lines
    .map((cells) => cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))))
    .map((cells) => cells.join("  "))
    .join("\n");
}

const numberOf = (value) => (value === undefined ? "-" : value.toLocaleString("en"));

function compared(now, before) {
  const difference = (now ?? 0) - (before ?? 0);
  return [
    numberOf(now),
    numberOf(before),
    difference === 0 ? "=" : `${difference > 0 ? "+" : ""}${numberOf(difference)}`,
  ];
}

function report(now, before, rev) {
  const cellsOf = (a, b) => (before === null ? [numberOf(a)] : compared(a, b));
  const headOf = (name) => (before === null ? [name] : [name, rev, "±"]);
  const rows = [...new Set([...now.table.keys(), ...(before?.table.keys() ?? [])])];
  const order = [...divided, ...whole];
  const rankOf = (row) => [order.indexOf(row.split(/[/,]/)[0]), row.includes(",") ? 1 : 0];
  rows.sort((a, b) => rankOf(a)[0] - rankOf(b)[0] || rankOf(a)[1] - rankOf(b)[1] || (a < b ? -1 : 1));
  const lines = rows.map((row) => [
    row,
    ...columns.flatMap((_, i) => cellsOf(now.table.get(row)?.[i], before?.table.get(row)?.[i])),
  ]);
  console.log(printed([["folder", ...columns.flatMap(headOf)], ...lines]));
  console.log(`
raw: lines. code: lines that are not blank and no comment. long: functions over 40 lines. unused: exports that no other
file uses. tests': exports that only tests use.
`);
  const names = [...new Set([...now.facts.keys(), ...(before?.facts.keys() ?? [])])];
  const facts = names.map((name) => [name, ...cellsOf(now.facts.get(name), before?.facts.get(name))]);
  console.log(printed([["", ...headOf("now")], ...facts]));
}

await main(async () => {
  const { positionals } = parseArgs({ allowPositionals: true });
  if (positionals.length > 1) throw new ScriptError("Usage: npm run size [-- REV]");
  const [rev] = positionals;
  const scratch = mkdtempSync(join(tmpdir(), "pinbench-size-"));
  try {
    symlinkSync(inRoot("node_modules"), join(scratch, "node_modules"));
    const packing = packed();
    packing.catch(() => undefined);
    let before = null;
    if (rev !== undefined) {
      const folder = join(scratch, "rev");
      mkdirSync(folder);
      const { status } = spawnSync("git", ["rev-parse", "--verify", `${rev}^{commit}`], { cwd: root });
      if (status !== 0) throw new ScriptError(`git knows no commit ${rev}.`);
      await run("sh", ["-c", 'git archive "$0" | tar -x -C "$1"', rev, folder], { cwd: root, quiet: true });
      const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
      before = { table: tableOf(folder, paths), facts: await factsOf(folder, scratch) };
    }
    const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], {
      cwd: root,
      encoding: "utf8",
    });
    const paths = listed
      .split("\n")
      .filter((path) => existsSync(inRoot(path)))
      .sort();
    const now = { table: tableOf(root, paths), facts: await factsOf(root, scratch) };
    report(now, before, rev);
    const { size, missing } = await packing;
    const lacking = missing.length === 0 ? "" : `, without ${missing.join(", ")}, which are not built here`;
    console.log(`\nnpm packs ${Math.round(size / 1000).toLocaleString("en")} kB of this tree${lacking}.`);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});
