import { spawn, spawnSync } from "node:child_process";
import {
  accessSync,
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { ExitCode, PinbenchError } from "../errors.js";
import { addonName, emulatedLibraryName, localBuildFolder, userBuildFolder } from "../native/candidates.js";
import { type LoadedAddon, loadAddon } from "../native/load.js";
import { packageRoot } from "../package-facts.js";
import { printableText } from "../report/printable-text.js";
import { makeFolderSync } from "../results/made-folder.js";
import type { CommandSettings } from "../settings/command-settings.js";
import { writeStdout } from "./terminal.js";

/** The packages that run CMake with Node's headers, in the versions that pinbench's own build is tested with. */
export const buildPackages = { "cmake-js": "8.0.0", "node-addon-api": "8.9.2" } as const;

/** What a build reads; cmake-js learns from package.json that Node-API is all that is needed. */
const sources = ["CMakeLists.txt", "cuda", "package.json"];

/** The lines of output that are shown where compiling fails. */
const shownLines = 40;

/** `pinbench build`: compiles the package's sources for this machine and loads the result. Throws PinbenchError. */
export async function buildCommand(flags: CommandSettings<"build">): Promise<ExitCode> {
  const environment = process.env;
  if (!existsSync(join(packageRoot, "CMakeLists.txt"))) {
    throw new PinbenchError("unavailable", `There is nothing to compile: ${packageRoot} has no sources.`, {
      hint: "Install pinbench from its package, or clone it.",
    });
  }
  requireBuildTools(environment);
  const folder = targetFolder(environment);
  const modules = findBuildModules(environment);
  note(`compiling for ${folder}, which takes a minute or two`);
  const workshop = mkdtempSync(join(tmpdir(), "pinbench-build-"));
  try {
    await compile(workshop, modules, environment, flags.verbose);
    for (const file of [addonName, emulatedLibraryName])
      install(join(workshop, "build/Release", file), folder);
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
  // Throws what the loader says if what was compiled does not load.
  await writeStdout(report(loadAddon({ ...environment, PINBENCH_ADDON: join(folder, addonName) })));
  if (environment.PINBENCH_ADDON) {
    note(`PINBENCH_ADDON is set, and comes first: ${environment.PINBENCH_ADDON}`);
  }
  return ExitCode.ok;
}

function report({ path, addon }: LoadedAddon): string {
  const kernels = addon.build.kernels ? "with kernels" : "without kernels, as no nvcc was found";
  return `${printableText(`Compiled by ${addon.build.compiler}, ${kernels}: ${path}`)}\n`;
}

function note(text: string): void {
  process.stderr.write(`pinbench: ${printableText(text)}\n`);
}

/** Compiles a copy of the sources, as make, nvcc and the linker cannot handle every path a package may lie at. */
async function compile(
  workshop: string,
  modules: string,
  environment: NodeJS.ProcessEnv,
  verbose: boolean,
): Promise<void> {
  for (const name of sources) cpSync(join(packageRoot, name), join(workshop, name), { recursive: true });
  const cmakeJs = join(modules, "cmake-js/bin/cmake-js");
  for (const step of ["configure", "build"]) {
    const args = [cmakeJs, step, "--directory", workshop, "--out", join(workshop, "build"), "--prefer-make"];
    args.push("--parallel", String(availableParallelism()));
    // cmake-js looks for node-addon-api from the sources.
    await runStep(step, args, { ...environment, NODE_PATH: modules }, verbose);
  }
}

/** Replaces the file whole: a process that has loaded the old one keeps it. */
function install(file: string, folder: string): void {
  const target = join(folder, basename(file));
  copyFileSync(file, `${target}.new`);
  renameSync(`${target}.new`, target);
}

/** The package's own folder, or this user's if that cannot be written. The loader looks in both. */
function targetFolder(environment: NodeJS.ProcessEnv): string {
  const ofUser = userBuildFolder(environment);
  const places = [localBuildFolder, ...(ofUser === null ? [] : [ofUser])];
  for (const folder of places) {
    try {
      makeFolderSync(folder);
      accessSync(folder, constants.W_OK);
      return folder;
    } catch {
      // Read-only, or another user's.
    }
  }
  throw new PinbenchError("output", `Neither ${places.join(" nor ")} can be written.`, {
    hint: "Set HOME or XDG_CACHE_HOME to a folder of yours.",
  });
}

/** Runs a step of cmake-js; what it says is shown if it fails, or as it comes with `verbose`. */
function runStep(step: string, args: string[], env: NodeJS.ProcessEnv, verbose: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    // Nothing but the result goes to stdout.
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    const said: string[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        if (verbose) process.stderr.write(text);
        else said.push(text);
      });
    }
    const fail = (reason: string, cause?: Error) => {
      const lines = said.join("").trimEnd().split("\n").slice(-shownLines);
      if (!verbose) process.stderr.write(`${lines.map(printableText).join("\n")}\n`);
      reject(
        new PinbenchError("unavailable", `Compiling failed: cmake-js ${step} ${reason}.`, {
          hint: verbose ? "" : "The lines above say why; --verbose shows all.",
          cause,
        }),
      );
    };
    child.on("error", (error) => fail("did not start", error));
    child.on("close", (code, signal) => {
      if (code === 0) resolve();
      else fail(`ended with ${signal ?? `exit code ${code}`}`);
    });
  });
}

/** What compiling needs: one of the programs (or what the variable names), and the Debian package of the first. */
const needed = [
  { what: "a C++20 compiler", programs: ["c++", "g++", "clang++"], variable: "CXX", debian: "g++" },
  { what: "CMake", programs: ["cmake"], variable: null, debian: "cmake" },
  { what: "make or ninja", programs: ["make", "ninja"], variable: null, debian: "make" },
];

/** Throws an "unavailable" PinbenchError that names all that is missing. */
function requireBuildTools(environment: NodeJS.ProcessEnv): void {
  const missing = needed.filter(({ programs, variable }) => {
    if (variable !== null && environment[variable]) return false;
    return programs.every((program) => findProgram(program, environment) === null);
  });
  if (missing.length === 0) return;
  const what = missing.map((one) => one.what).join(" and ");
  throw new PinbenchError("unavailable", `Compiling needs ${what}, not found in the PATH.`, {
    hint: `Install it first (Debian: apt-get install ${missing.map(({ debian }) => debian).join(" ")}).`,
  });
}

/** A node_modules folder with the build packages: that of a checkout, or the one that npx fetches them into. */
function findBuildModules(environment: NodeJS.ProcessEnv): string {
  const local = localModules();
  if (local !== null) return local;
  const npx = findProgram("npx", environment) ?? join(dirname(process.execPath), "npx");
  const packages = Object.entries(buildPackages).flatMap(([name, version]) => [
    "--package",
    `${name}@${version}`,
  ]);
  const { status, stdout, stderr, error } = spawnSync(
    npx,
    ["--yes", ...packages, "--call", "command -v cmake-js"],
    // Not in the working folder: if that is a project, npx would use its packages.
    { cwd: tmpdir(), env: environment, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
  );
  if (error) throw cannotFetch(`npx does not start (${(error as NodeJS.ErrnoException).code})`);
  const modules = dirname(dirname(stdout.trim().split("\n").at(-1) ?? ""));
  if (status !== 0 || !hasBuildPackages(modules)) throw cannotFetch(firstReason(stderr));
  return modules;
}

function localModules(): string | null {
  try {
    const path = createRequire(join(packageRoot, "package.json")).resolve("cmake-js/package.json");
    const modules = dirname(dirname(path));
    return hasBuildPackages(modules) ? modules : null;
  } catch {
    return null;
  }
}

/** Whether both packages are there, in the versions of `buildPackages`. */
function hasBuildPackages(modules: string): boolean {
  return Object.entries(buildPackages).every(([name, version]) => {
    const path = join(modules, name, "package.json");
    return (
      existsSync(path) && (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version === version
    );
  });
}

/** The line of npm's many that says what went wrong. */
function firstReason(stderr: string): string {
  const lines = stderr.split("\n").map((line) => line.replace(/^npm (error|ERR!)\s*/, "").trim());
  const reason = lines.find(
    (line) => /request to|network|E[A-Z]{4,}/.test(line) && !/^(code|errno)\b/.test(line),
  );
  return (reason ?? lines.find((line) => line !== "") ?? "npx said nothing").replace(/\.$/, "");
}

function cannotFetch(reason: string): PinbenchError {
  const what = Object.entries(buildPackages)
    .map(([name, version]) => `${name} ${version}`)
    .join(" and ");
  return new PinbenchError("unavailable", `Compiling needs ${what}, which npx could not fetch: ${reason}.`, {
    hint: "Check the network and npm's settings (registry, proxy), and try again.",
  });
}

function findProgram(name: string, { PATH = "" }: NodeJS.ProcessEnv): string | null {
  for (const folder of PATH.split(delimiter)) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // Not in this folder.
    }
  }
  return null;
}
