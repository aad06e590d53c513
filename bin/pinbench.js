#!/usr/bin/env node
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { register } from "node:module";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 17) || major === 21 || (major === 22 && minor < 9)) {
  process.stderr.write(
    `pinbench: Node ${process.versions.node} is too old: pinbench needs ^20.17 or >=22.9. Install a newer Node.\n`,
  );
  process.exit(2);
}
// Below this, Node's module loader hangs or crashes. The hook itself needs 3 or 4 files.
const fewestFiles = 6;
// Node opens all imports of a module at once, which has never needed half of this.
const plentyOfFiles = 200;
const { limit, left } = openFiles();
if (left < fewestFiles) {
  process.stderr.write(
    `pinbench: too many open files: the limit is ${limit}, and ${limit - left} are open before pinbench begins. Raise it with ulimit -n 1024.\n`,
  );
  process.exit(3);
}
if (left < plentyOfFiles) register("./load-in-turn.js", import.meta.url);
const program = new URL("../dist/program/main.js", import.meta.url);
if (!existsSync(program)) {
  process.stderr.write("pinbench: this clone is not built yet. Run npm ci in its folder.\n");
  process.exit(3);
}
const { main } = await import(program.href);
await main(process.argv.slice(2));

/** The process's limit of open files, and how many are left; infinite if the system does not report them. */
function openFiles() {
  try {
    const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
    return { limit: Number(limit), left: Number(limit) - readdirSync("/proc/self/fd").length };
  } catch {
    return { limit: Number.POSITIVE_INFINITY, left: Number.POSITIVE_INFINITY };
  }
}
