import { readFileSync } from "node:fs";
import { inRoot } from "./project.mjs";

/** Whether a package of the lock file is for this platform; most packages are for all. */
function fits({ os, cpu, libc }) {
  const allows = (list, value) => list === undefined || list.includes(value);
  return allows(os, process.platform) && allows(cpu, process.arch) && allows(libc, "glibc");
}

/** The folder in which Node finds `name` for a package in `from`: its own node_modules first. */
function resolveIn(packages, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("node_modules/") - 1))) {
    const candidate = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (candidate in packages) return candidate;
    if (folder === "") return null;
  }
}

/**
 * The folders (relative to the root, such as "node_modules/chalk") of the named packages and their dependencies
 * at run time on this platform, from package-lock.json.
 */
export function moduleClosure(names) {
  const { packages } = JSON.parse(readFileSync(inRoot("package-lock.json"), "utf8"));
  const found = new Set();
  const visit = (from, name) => {
    const folder = resolveIn(packages, from, name);
    if (folder === null || found.has(folder) || !fits(packages[folder])) return;
    found.add(folder);
    const { dependencies, optionalDependencies } = packages[folder];
    for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) visit(folder, next);
  };
  for (const name of names) visit("", name);
  return [...found].sort();
}

/** The packages that npm installs with pinbench. */
export function runtimeDependencies() {
  return Object.keys(JSON.parse(readFileSync(inRoot("package.json"), "utf8")).dependencies);
}
