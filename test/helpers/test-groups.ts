import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/**
 * Which files of tests share a process: to load what they import anew for each takes longer than most of their tests.
 */

/** Replaced modules stay replaced, and a driver reads its variables once: such files have a process of their own. */
const changesItsProcess = /\bvi\.(mock|doMock|stubEnv)\(|\bprocess\.env(\.\w+|\[\w+\])? = |\(process\.env, /;

const inProcess = resolve("test/helpers/in-process.ts");

/** The file and all files of test/ that it imports, but none of those that in-process.ts imports. */
function closure(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  if (file === inProcess) return found;
  for (const [, path] of readFileSync(file, "utf8").matchAll(/\bfrom "(\.[^"]+)\.js"/g)) {
    const imported = resolve(dirname(file), `${path}.ts`);
    if (imported.startsWith(resolve("test"))) closure(imported, found);
  }
  return found;
}

export interface TestGroups {
  /** Files whose process stays as it is. */
  shared: string[];
  /** Files that call commands through in-process.ts, which replaces modules for all of them alike. */
  commands: string[];
  alone: string[];
}

/** All files of tests but those in `leftOut`; those in `isolated` are alone in any case. Both are folders or files. */
export function testGroups(leftOut: readonly string[], isolated: readonly string[]): TestGroups {
  const groups: TestGroups = { shared: [], commands: [], alone: [] };
  for (const name of readdirSync("test", { recursive: true, encoding: "utf8" })) {
    const isIn = (paths: readonly string[]) => paths.some((path) => name.startsWith(path));
    if (!name.endsWith(".test.ts") || isIn(leftOut)) continue;
    const file = join("test", name);
    const parts = closure(resolve(file));
    const isChanging = (part: string) =>
      part !== inProcess && changesItsProcess.test(readFileSync(part, "utf8"));
    if (isIn(isolated) || [...parts].some(isChanging)) groups.alone.push(file);
    else groups[parts.has(inProcess) ? "commands" : "shared"].push(file);
  }
  return groups;
}
