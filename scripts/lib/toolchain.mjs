import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { findProgram, run, ScriptError, searchPath } from "./process.mjs";

/** Programs that a native build needs, and the Debian package of each. */
const needed = { "g++": "g++", cmake: "cmake", make: "make" };

/** Throws a ScriptError that names the missing programs and packages. */
export function requireToolchain() {
  const missing = Object.keys(needed).filter((program) => findProgram(program) === null);
  if (missing.length > 0) {
    const packages = missing.map((program) => needed[program]).join(" ");
    throw new ScriptError(
      `Building pinbench's native part needs ${missing.join(" and ")}, which ${missing.length > 1 ? "are" : "is"} ` +
        `not on the PATH; install it first (Debian: apt-get install ${packages}).`,
    );
  }
}

/**
 * Output of `nvcc --version`; null without nvcc. Searches like CMakeLists.txt. A broken nvcc is no error, because the
 * build leaves out kernels then, but its text differs, so that a repaired one causes a rebuild.
 */
export function nvccVersion() {
  const homes = [process.env.CUDA_HOME, process.env.CUDA_PATH].filter(Boolean);
  const folders = [...homes.map((home) => join(home, "bin")), ...searchPath(), "/usr/local/cuda/bin"];
  const nvcc = findProgram("nvcc", folders);
  if (nvcc === null) return null;
  const { status, stdout } = spawnSync(nvcc, ["--version"], { encoding: "utf8" });
  return status === 0 ? stdout : "nvcc does not work";
}

/** The file that g++ would link for `-l<name>`, such as libasan.so. */
export async function compilerLibrary(file) {
  return (await run("g++", [`-print-file-name=${file}`], { capture: true })).trim();
}

const oldestClang = 16; // the first that has std::source_location
const newestClang = 40;

/** What to do if findClang() finds none. */
export const clangMissing =
  `There is no clang++-${oldestClang} or newer (Debian: apt-get install clang-19 libclang-rt-19-dev), ` +
  "which brings libFuzzer.";

/** The newest clang++ with a version in its name, as in Debian; null if none is new enough. */
export function findClang() {
  for (let version = newestClang; version >= oldestClang; --version) {
    const path = findProgram(`clang++-${version}`);
    if (path !== null) return path;
  }
  return null;
}
