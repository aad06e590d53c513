import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { inRoot } from "./project.mjs";
import { nvccVersion } from "./toolchain.mjs";

/** All files below a path of the repository, sorted; the path itself for a file; empty if it is missing. */
function filesOf(path) {
  const info = statSync(inRoot(path), { throwIfNoEntry: false });
  if (info === undefined) return [];
  if (info.isFile()) return [path];
  return readdirSync(inRoot(path))
    .sort()
    .flatMap((name) => filesOf(join(path, name)));
}

/** A hash of names, contents and `extra`, without times, which differ in a fresh clone. */
function hashOf(paths, extra = "") {
  const hash = createHash("sha256");
  for (const file of paths.flatMap(filesOf)) {
    const content = readFileSync(inRoot(file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.update(extra).digest("hex");
}

/** Only for bench/, which an installed package lacks. */
const bareLoops = [
  "bench/bare_machine.hpp",
  "bench/block_loop.cpp",
  "bench/pin_loop.cpp",
  "bench/copy_loop.cpp",
  "bench/load_loop.cpp",
];

/** A hash for each part of the build; a part whose hash is unchanged is up to date. */
export function inputHashes() {
  return {
    typescript: hashOf(["src", "tsconfig.json", "package-lock.json", "scripts/lib/bundle-program.mjs"]),
    native: hashOf(
      ["cuda", ...bareLoops, "CMakeLists.txt", "package-lock.json", "scripts/lib/native-build.mjs"],
      nvccVersion() ?? "no nvcc",
    ),
  };
}
