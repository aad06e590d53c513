import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { buildAddon } from "./native-build.mjs";
import { findProgram, run, ScriptError } from "./process.mjs";
import { inRoot } from "./project.mjs";

/** The processors that pinbench is compiled for, by Node's names of them. */
const platforms = {
  x64: { machine: "x86_64", linker: "ld-linux-x86-64" },
  arm64: { machine: "aarch64", linker: "ld-linux-aarch64" },
};

/** This machine's, which is compiled for if no other is asked for. */
export const ownArch = process.arch;

/** Throws a ScriptError for a processor without a name here. */
function platformOf(arch) {
  const platform = platforms[arch];
  if (platform !== undefined) return platform;
  throw new ScriptError(
    `pinbench is not compiled for ${arch}: --arch is one of ${Object.keys(platforms).join(", ")}.`,
  );
}

/** The processor's name in the tag of a wheel. */
export const wheelMachine = (arch) => platformOf(arch).machine;

/** What the names of Debian's tools for another processor begin with. */
const toolPrefix = (arch) => (arch === ownArch ? "" : `${platformOf(arch).machine}-linux-gnu-`);

/** One of the compiler's tools, such as "strip", for a processor. Throws a ScriptError if it is not there. */
export function toolFor(arch, name) {
  const tool = `${toolPrefix(arch)}${name}`;
  if (findProgram(tool) !== null) return tool;
  const debian = arch === ownArch ? "g++" : `g++-${platformOf(arch).machine}-linux-gnu`;
  throw new ScriptError(`${tool} is not on the PATH (Debian: apt-get install ${debian}).`);
}

/** The processor that a compiled file is for, from e_machine of its ELF header. */
export function archOf(file) {
  const machines = { 62: "x64", 183: "arm64" };
  return machines[readFileSync(file).readUInt16LE(18)];
}

/** The folder of a build below the root; the one for this machine is where the loader looks. */
export const buildFolder = (arch) => (arch === ownArch ? "build" : `build/${arch}`);

/** Compiles the addon and the emulated driver for another processor, with kernels if nvcc is there: they are the same. */
export async function crossBuild(arch, { quiet = false } = {}) {
  const settings = {
    CMAKE_SYSTEM_NAME: "Linux",
    CMAKE_SYSTEM_PROCESSOR: platformOf(arch).machine,
    CMAKE_CXX_COMPILER: toolFor(arch, "g++"),
  };
  await buildAddon(buildFolder(arch), settings, { quiet });
}

/**
 * A Node for a processor: this one, or one of the same version from npm's registry, which is kept for the next time.
 */
export async function nodeFor(arch) {
  if (arch === ownArch) return process.execPath;
  const { node: version } = process.versions;
  const cache = inRoot("node_modules/.cache/pinbench");
  const folder = join(cache, `node-${arch}-${version}`);
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    const fresh = mkdtempSync(join(cache, "fetched-"));
    try {
      // Not `npm install`, which refuses packages for another processor.
      const packed = await run("npm", ["pack", "--silent", `node-linux-${arch}@${version}`], {
        cwd: fresh,
        capture: true,
      });
      await run("tar", ["-xf", packed.trim(), "package/bin/node", "package/LICENSE"], { cwd: fresh });
      renameSync(join(fresh, "package"), folder);
    } catch (error) {
      // Another script may have fetched it at the same time.
      if (!existsSync(folder)) throw error;
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
  }
  return join(folder, "bin/node");
}

/** Node's licence, which is shipped with it. Throws a ScriptError without one. */
export function licenceOfNode(node) {
  const prefix = resolve(dirname(node), "..");
  const found = [join(prefix, "LICENSE"), join(prefix, "share/doc/nodejs/LICENSE")].find(existsSync);
  if (found === undefined) throw new ScriptError(`Node's LICENSE is not in ${prefix}, but must be shipped.`);
  return found;
}

/** The names of the system's linkers. */
export const linkers = Object.values(platforms).map(({ linker }) => linker);
