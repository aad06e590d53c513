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
import { availableParallelism, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { PinbenchError } from "../errors.js";
import { addonName, emulatedLibraryName, localBuildFolder, userBuildFolder } from "../native/candidates.js";
import { type LoadedAddon, loadAddon } from "../native/load.js";
import { packageRoot } from "../package-facts.js";
import { findBuildModules, requireBuildTools } from "./build-tools.js";
import { writeStdout } from "./stdout.js";

export interface BuildFlags {
  verbose?: boolean;
  debug?: boolean;
}

/** What a build reads; cmake-js learns from package.json that Node-API is all that is needed. */
const sources = ["CMakeLists.txt", "cuda", "package.json"];

/** How much of a compiler's words is shown where it fails. */
const shownLines = 40;

/** `pinbench build`: compiles the package's sources for this machine and loads the result. Throws PinbenchError. */
export async function build(flags: BuildFlags, environment: NodeJS.ProcessEnv = process.env): Promise<void> {
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
    await compile(workshop, modules, environment, flags.verbose ?? false);
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
}

function report({ path, addon }: LoadedAddon): string {
  const kernels = addon.build.kernels ? "with kernels" : "without kernels, as no nvcc was found";
  return `Compiled by ${addon.build.compiler}, ${kernels}: ${path}\n`;
}

function note(text: string): void {
  process.stderr.write(`pinbench: ${text}\n`);
}

/** In a copy of the sources, since not every path is one that make, nvcc and the linker can do with. */
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

/** In one step: a process that has the old file open keeps it. */
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
      mkdirSync(folder, { recursive: true });
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
      if (!verbose) process.stderr.write(`${lines.join("\n")}\n`);
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
