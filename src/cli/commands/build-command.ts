import { spawn } from "node:child_process";
import {
  accessSync,
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
} from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { printableText } from "../../draw/printable-text.js";
import { ExitCode, PinbenchError } from "../../errors.js";
import { type LoadedAddon, loadAddon } from "../../native/load.js";
import { addonName, emulatedLibraryName, localBuildFolder, userBuildFolder } from "../../native/probe.js";
import { packageRoot } from "../../package-facts.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { writeStdout } from "../output/terminal.js";

/** What a build reads. */
const sources = ["CMakeLists.txt", "cuda"];

/** Where the sources lie: in a checkout, or in a package. */
const sourceFolder = [packageRoot, join(packageRoot, "prebuilds/sources")].find((folder) =>
  existsSync(join(folder, "CMakeLists.txt")),
);

/** The packages that have the headers of Node-API, and the folder of each that has them. Nothing of them is run. */
const headers = { "node-api-headers": "include", "node-addon-api": "" };

/** Most lines of output that are shown if compiling fails. */
const shownLines = 40;

/** `pinbench build`: compiles the package's sources for this machine and loads the result. Throws PinbenchError. */
export async function buildCommand(flags: CommandSettings<"build">): Promise<ExitCode> {
  const environment = process.env;
  if (sourceFolder === undefined) {
    throw new PinbenchError("unavailable", `There is nothing to compile: ${packageRoot} has no sources.`, {
      hint: "Install pinbench from its package, or clone it.",
    });
  }
  requireBuildTools(environment);
  const folder = targetFolder(environment);
  note(`compiling for ${folder}, which takes a minute or two`);
  const workshop = mkdtempSync(join(tmpdir(), "pinbench-build-"));
  try {
    await compile(sourceFolder, workshop, environment, flags.verbose);
    for (const file of [addonName, emulatedLibraryName])
      install(join(workshop, "build/Release", file), folder);
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
  // Throws the loader's error if the compiled module does not load.
  await writeStdout(report(loadAddon({ ...environment, PINBENCH_ADDON: join(folder, addonName) })));
  if (environment.PINBENCH_ADDON) {
    note(`PINBENCH_ADDON is set, and comes first: ${environment.PINBENCH_ADDON}`);
  }
  return ExitCode.ok;
}

function report({ path, addon }: LoadedAddon): string {
  const kernels = addon.build.kernels ? "with kernels" : "without kernels, because nvcc was not found";
  return `${printableText(`Compiled by ${addon.build.compiler}, ${kernels}: ${path}`)}\n`;
}

function note(text: string): void {
  process.stderr.write(`pinbench: ${printableText(text)}\n`);
}

/**
 * Compiles a copy of the sources, because make, nvcc and the linker cannot handle every path a package may have. All of
 * CMake's files are in `workshop`, a folder that no other user can write to.
 */
async function compile(
  from: string,
  workshop: string,
  environment: NodeJS.ProcessEnv,
  verbose: boolean,
): Promise<void> {
  for (const name of sources) cpSync(join(from, name), join(workshop, name), { recursive: true });
  const find = createRequire(join(packageRoot, "package.json"));
  const included = Object.entries(headers).map(([name, folder]) => {
    const copy = join(workshop, name);
    cpSync(join(dirname(find.resolve(`${name}/package.json`)), folder), copy, { recursive: true });
    return copy;
  });
  const build = join(workshop, "build");
  const generator = findProgram("make", environment) === null ? "Ninja" : "Unix Makefiles";
  const settings = [
    "-DCMAKE_BUILD_TYPE=Release",
    `-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=${join(build, "Release")}`,
    `-DCMAKE_JS_INC=${included.join(";")}`,
  ];
  const parallel = String(availableParallelism());
  const run = (step: string, args: string[]) => runStep(step, args, { cwd: workshop, environment, verbose });
  await run("configure", ["-S", workshop, "-B", build, "-G", generator, ...settings]);
  await run("build", ["--build", build, "--parallel", parallel]);
}

/** Replaces the file as a whole: a process that has loaded the old one keeps it. */
function install(file: string, folder: string): void {
  const target = join(folder, basename(file));
  copyFileSync(file, `${target}.new`);
  renameSync(`${target}.new`, target);
}

/** The package's folder, or this user's if that is read-only. The loader looks in both. */
function targetFolder(environment: NodeJS.ProcessEnv): string {
  const ofUser = userBuildFolder(environment);
  const places = [localBuildFolder, ...(ofUser === null ? [] : [ofUser])];
  for (const folder of places) {
    try {
      mkdirSync(folder, { recursive: true });
      accessSync(folder, constants.W_OK);
      return folder;
    } catch {
      // Read-only, or owned by another user.
    }
  }
  throw new PinbenchError("output", `Neither ${places.join(" nor ")} can be written.`, {
    hint: "Set HOME or XDG_CACHE_HOME to a folder of yours.",
  });
}

interface StepOptions {
  cwd: string;
  environment: NodeJS.ProcessEnv;
  verbose: boolean;
}

/** Runs one step of CMake. Its output is shown if it fails, or as it comes with `verbose`. */
function runStep(
  step: string,
  args: string[],
  { cwd, environment: env, verbose }: StepOptions,
): Promise<void> {
  return new Promise((resolve, reject) => {
    // Only the result goes to stdout.
    const child = spawn("cmake", args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
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
        new PinbenchError("unavailable", `Compiling failed: cmake ${step} ${reason}.`, {
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

/**
 * The requirements of compiling: any of the programs (or the program in the variable), and the Debian package of the
 * first.
 */
const needed = [
  { what: "a C++20 compiler", programs: ["c++", "g++", "clang++"], variable: "CXX", debian: "g++" },
  { what: "CMake", programs: ["cmake"], variable: null, debian: "cmake" },
  { what: "make or ninja", programs: ["make", "ninja"], variable: null, debian: "make" },
];

/** Throws an "unavailable" PinbenchError that names everything missing. */
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

function findProgram(name: string, { PATH = "" }: NodeJS.ProcessEnv): string | null {
  for (const folder of PATH.split(delimiter)) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // It is not in this folder.
    }
  }
  return null;
}
