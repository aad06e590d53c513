import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { buildAddon } from "./native-build.mjs";
import { findProgram, run, ScriptError } from "./process.mjs";
import { inRoot } from "./project.mjs";

/** The architectures that pinbench is compiled for, by Node's names. */
const platforms = {
  x64: { machine: "x86_64", linker: "ld-linux-x86-64" },
  arm64: { machine: "aarch64", linker: "ld-linux-aarch64" },
};

/** This machine's architecture, the default. */
export const ownArch = process.arch;

function platformOf(arch) {
  const platform = platforms[arch];
  if (platform !== undefined) return platform;
  throw new ScriptError(
    `pinbench is not compiled for ${arch}: --arch is one of ${Object.keys(platforms).join(", ")}.`,
  );
}

/** The architecture's name in a wheel's tag. */
export const wheelMachine = (arch) => platformOf(arch).machine;

/** Prefix of Debian's tools for another architecture. */
const toolPrefix = (arch) => (arch === ownArch ? "" : `${platformOf(arch).machine}-linux-gnu-`);

/** A tool such as "strip" for an architecture. Throws a ScriptError if it is missing. */
export function toolFor(arch, name) {
  const tool = `${toolPrefix(arch)}${name}`;
  if (findProgram(tool) !== null) return tool;
  const debian = arch === ownArch ? "g++" : `g++-${platformOf(arch).machine}-linux-gnu`;
  throw new ScriptError(`${tool} is not on the PATH (Debian: apt-get install ${debian}).`);
}

/** The architecture of a compiled file, from e_machine in its ELF header. */
export function archOf(file) {
  const machines = { 62: "x64", 183: "arm64" };
  return machines[readFileSync(file).readUInt16LE(18)];
}

/** Build folder below the root; for this machine it is where the loader looks. */
export const buildFolder = (arch) => (arch === ownArch ? "build" : `build/${arch}`);

/** Compiles the addon and the emulated driver for another architecture. Kernels are the same, and need nvcc. */
export async function crossBuild(arch, { quiet = false } = {}) {
  const settings = {
    CMAKE_SYSTEM_NAME: "Linux",
    CMAKE_SYSTEM_PROCESSOR: platformOf(arch).machine,
    CMAKE_CXX_COMPILER: toolFor(arch, "g++"),
  };
  await buildAddon(buildFolder(arch), settings, { quiet });
}

/** A Node for an architecture: this one, or the same version from npm's registry, which is then kept. */
export async function nodeFor(arch) {
  if (arch === ownArch) return process.execPath;
  const { node: version } = process.versions;
  const cache = inRoot("node_modules/.cache/pinbench");
  const folder = join(cache, `node-${arch}-${version}`);
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    const fresh = mkdtempSync(join(cache, "fetched-"));
    try {
      // `npm install` would refuse a package for another architecture.
      const packed = await run("npm", ["pack", "--silent", `node-linux-${arch}@${version}`], {
        cwd: fresh,
        capture: true,
      });
      await run("tar", ["-xf", packed.trim(), "package/bin/node", "package/LICENSE"], { cwd: fresh });
      renameSync(join(fresh, "package"), folder);
    } catch (error) {
      // Another script may have fetched it meanwhile.
      if (!existsSync(folder)) throw error;
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
  }
  return join(folder, "bin/node");
}

export function licenceOfNode(node) {
  const prefix = resolve(dirname(node), "..");
  const found = [join(prefix, "LICENSE"), join(prefix, "share/doc/nodejs/LICENSE")].find(existsSync);
  if (found === undefined) throw new ScriptError(`Node's LICENSE is not in ${prefix}, but must be shipped.`);
  return found;
}

export const linkers = Object.values(platforms).map(({ linker }) => linker);
