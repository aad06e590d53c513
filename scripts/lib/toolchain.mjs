import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { findProgram, run, ScriptError, searchPath } from "./process.mjs";

/** The programs that a native build cannot do without, and the Debian package that brings each. */
const needed = { "g++": "g++", cmake: "cmake", make: "make" };

/** Throws a ScriptError that says what is missing and how to get it. */
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
 * What `nvcc --version` says, or null where there is none. Looks where CMakeLists.txt does. One that does not work is
 * no failure, since the build then leaves the kernels out; but it counts as another one than it is once repaired.
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

/** What to do where findClang() finds none. */
export const clangMissing =
  `There is no clang++-${oldestClang} or newer (Debian: apt-get install clang-19 libclang-rt-19-dev), ` +
  "which brings libFuzzer.";

/** The path of the newest clang++ that has its version in its name, as Debian's do; null if none is new enough. */
export function findClang() {
  for (let version = newestClang; version >= oldestClang; --version) {
    const path = findProgram(`clang++-${version}`);
    if (path !== null) return path;
  }
  return null;
}
