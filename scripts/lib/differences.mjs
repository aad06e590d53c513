// Compares two folders of outputs and groups equal differences, for `npm run same`.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ScriptError } from "./process.mjs";

/** How many differences of one shape are printed; they differ in numbers only. */
const examples = 3;

/** The paths of a folder's outputs, TOPIC/INPUT. */
const namesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

const isRefused = (folder, name) => readFileSync(join(folder, name), "utf8").startsWith("exit code 2\n");

/** Inputs on one side only: missing outputs, and commands that only one side accepts. */
function onlyOnOneSide({ before, after }) {
  const [earlier, later] = [namesIn(before), namesIn(after)];
  const common = later.filter((name) => earlier.includes(name));
  const commands = common.filter((name) => name.startsWith("commands/"));
  const isGone = (name) => !isRefused(before, name) && isRefused(after, name);
  const isNew = (name) => isRefused(before, name) && !isRefused(after, name);
  return {
    common,
    count: new Set([...earlier, ...later]).size,
    gone: [...earlier.filter((name) => !later.includes(name)), ...commands.filter(isGone)],
    added: [...later.filter((name) => !earlier.includes(name)), ...commands.filter(isNew)],
  };
}

/** The differences of two folders: each has its output and the removed and added lines. */
function hunksOf({ before, after }) {
  const args = [
    "diff",
    "--no-index",
    "--no-color",
    "--no-ext-diff",
    "--unified=0",
    "--no-renames",
    "--text",
    before,
    after,
  ];
  const { status, stdout, stderr } = spawnSync("git", args, { encoding: "utf8", maxBuffer: 2 ** 30 });
  if (status !== 0 && status !== 1) throw new ScriptError(`git diff failed: ${stderr}`);
  const hunks = [];
  let output = null;
  for (const line of stdout.split("\n")) {
    if (line.startsWith("diff --git ")) output = line.slice(line.lastIndexOf(after) + after.length + 1);
    else if (line.startsWith("@@")) hunks.push({ output, lines: [] });
    else if (/^[+-]/.test(line) && !/^(\+\+\+|---) /.test(line)) hunks.at(-1).lines.push(line);
  }
  return hunks;
}

function groupBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return [...groups.values()];
}

const outputsOf = (hunks) => [...new Set(hunks.map(({ output }) => output))];
const counted = (outputs) =>
  `${outputs.length} ${outputs.length === 1 ? "output" : "outputs"}: ${decodeURIComponent(outputs[0])}${outputs.length > 1 ? ", …" : ""}`;

/** Lines that describe how two folders of outputs differ; empty if they are equal. */
export function differences(sides) {
  const { common, count, gone, added } = onlyOnOneSide(sides);
  const apart = new Set([...gone, ...added]);
  const hunks = hunksOf(sides).filter(({ output }) => common.includes(output) && !apart.has(output));
  const shapeOf = ({ lines }) => lines.join("\n").replaceAll(/[\d.]+/g, "#");
  const shapes = groupBy(hunks, shapeOf).map((alike) => groupBy(alike, ({ lines }) => lines.join("\n")));
  const most = (groups) => Math.max(...groups.map((group) => group.length));
  const printed = shapes
    .sort((a, b) => most(b) - most(a))
    .flatMap((groups) => {
      const shown = groups.sort((a, b) => b.length - a.length).slice(0, examples);
      const left = outputsOf(groups.slice(examples).flat());
      return [
        ...shown.flatMap((group) => ["", `== ${counted(outputsOf(group))}`, ...group[0].lines]),
        ...(left.length === 0 ? [] : [`== and, with other figures alone, ${counted(left)}`]),
      ];
    });
  const lists = { gone, new: added };
  const listed = Object.entries(lists).flatMap(([what, names]) =>
    names.map((name) => `${what}: ${decodeURIComponent(name)}`),
  );
  if (listed.length + printed.length === 0) return [];
  const differing = new Set([...apart, ...outputsOf(hunks)]);
  return [...listed, ...printed, "", `${differing.size} of ${count} outputs differ.`];
}
