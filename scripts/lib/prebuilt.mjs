import { createHash } from "node:crypto";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { buildFolder, crossBuild, ownArch, toolFor } from "./platforms.mjs";
import { checkPortability } from "./portability.mjs";
import { run, ScriptError } from "./process.mjs";
import { inRoot } from "./project.mjs";

/** The loader's folder for an architecture, below the package's root. */
export const prebuiltFolder = (arch) => `prebuilds/linux-${arch}`;
export const prebuiltFiles = ["pinbench.node", "libpinbench_emulated.so", "libpinbench_trace.so"];

/** The file of hashes next to them, in the format of `sha256sum --check`. */
export const hashName = "SHA256SUMS";

/** The text of `hashName` for the present files of a folder. */
export function hashesOf(folder) {
  const lines = prebuiltFiles.map((file) => {
    const hash = createHash("sha256").update(readFileSync(join(folder, file)));
    return `${hash.digest("hex")}  ${file}\n`;
  });
  return lines.join("");
}

/** GPU generations with machine code; the first one's PTX serves all others. */
const architectures = [75, 80, 86, 90, 100, 120];

/** Local settings must not be shipped: neither instructions of this CPU nor a sanitizer. */
function checkSettings(build) {
  const cache = readFileSync(inRoot(build, "CMakeCache.txt"), "utf8");
  const setting = (name) => new RegExp(`^${name}:\\w+=(.*)$`, "m").exec(cache)?.[1] ?? "";
  const wanted = {
    CMAKE_BUILD_TYPE: "Release",
    // Only cmake-js's flags, none from the environment.
    CMAKE_CXX_FLAGS: "-DBUILDING_NODE_EXTENSION",
    PINBENCH_SANITIZE: "",
  };
  for (const [name, value] of Object.entries(wanted)) {
    if (setting(name) === value) continue;
    throw new ScriptError(
      `${build}/ was configured with ${name}=${setting(name)}; remove it and build without CXXFLAGS of your own.`,
    );
  }
}

/** The GPU architectures in a fatbin, from the headers of its ELF and PTX parts. */
function architecturesOf(image) {
  const fatbinMagic = 0xba55ed50;
  const found = { elf: [], ptx: [] };
  if (image.length < 16 || image.readUInt32LE(0) !== fatbinMagic) return found;
  for (let at = image.readUInt16LE(6); at + 64 <= image.length; ) {
    const kind = image.readUInt16LE(at) === 1 ? "ptx" : "elf";
    found[kind].push(image.readUInt32LE(at + 28));
    at += image.readUInt32LE(at + 4) + Number(image.readBigUInt64LE(at + 8));
  }
  return found;
}

function checkKernels(build) {
  const path = inRoot(build, "kernels.fatbin");
  const { elf, ptx } = existsSync(path) ? architecturesOf(readFileSync(path)) : { elf: [], ptx: [] };
  const missing = architectures.filter((one) => !elf.includes(one));
  if (missing.length > 0 || ptx.length === 0) {
    const what = [...missing.map((one) => `sm_${one}`), ...(ptx.length === 0 ? ["PTX"] : [])].join(", ");
    throw new ScriptError(`The kernels lack ${what}: releases are built with nvcc 13 on the PATH.`);
  }
}

/** Loads a copy as users' Node does, to check that it is complete. */
function checkLoads(path, { kernels }) {
  const { build } = createRequire(import.meta.url)(path);
  if (build.sanitizer !== null || build.kernels !== kernels) {
    throw new ScriptError(`${path} differs from the built file: ${JSON.stringify(build)}.`);
  }
}

/**
 * Sets the modes of the usual umask on all shipped files, because npm keeps modes and the package would depend on the
 * checkout.
 */
export async function shareModes(folder) {
  const args = ["pack", "--dry-run", "--ignore-scripts", "--json"];
  const [{ files }] = JSON.parse(await run("npm", args, { cwd: folder, capture: true }));
  for (const { path, mode } of files) chmodSync(join(folder, path), mode & 0o100 ? 0o755 : 0o644);
}

/**
 * Checks a build's files and copies them, without debug information, to the absolute path `target`. Compiles them first
 * if they are for another architecture.
 */
export async function copyPrebuilt(target, { kernels = true, arch = ownArch } = {}) {
  if (arch !== ownArch) await crossBuild(arch, { quiet: true });
  const build = buildFolder(arch);
  checkSettings(build);
  if (kernels) checkKernels(build);
  const strip = toolFor(arch, "strip");
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  for (const file of prebuiltFiles) {
    cpSync(inRoot(build, "Release", file), join(target, file));
    await run(strip, ["--strip-unneeded", join(target, file)]);
  }
  writeFileSync(join(target, hashName), hashesOf(target));
  await checkPortability(prebuiltFiles.map((file) => join(target, file)));
  if (kernels && arch === ownArch) checkLoads(join(target, prebuiltFiles[0]), { kernels });
}
