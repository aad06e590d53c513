import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { checkPortability } from "./portability.mjs";
import { findProgram, run, ScriptError } from "./process.mjs";
import { inRoot } from "./project.mjs";

/** What the loader looks for, below the package's root. */
export const prebuiltFolder = `prebuilds/linux-${process.arch}`;
export const prebuiltFiles = ["pinbench.node", "libpinbench_emulated.so"];

/** Lies beside them, in the form that `sha256sum --check` reads. */
export const hashName = "SHA256SUMS";

/** The text of `hashName` for the files as they are in a folder. */
export function hashesOf(folder) {
  const lines = prebuiltFiles.map((file) => {
    const hash = createHash("sha256").update(readFileSync(join(folder, file)));
    return `${hash.digest("hex")}  ${file}\n`;
  });
  return lines.join("");
}

/** The generations of GPUs that get machine code; PTX of the first serves all others. */
const architectures = [75, 80, 86, 89, 90, 100, 120];

/** Local settings do not go to other machines: no instructions that only this CPU has, no sanitizer. */
function checkSettings() {
  const cache = readFileSync(inRoot("build/CMakeCache.txt"), "utf8");
  const setting = (name) => new RegExp(`^${name}:\\w+=(.*)$`, "m").exec(cache)?.[1] ?? "";
  const wanted = {
    CMAKE_BUILD_TYPE: "Release",
    // What cmake-js passes, and nothing of the environment.
    CMAKE_CXX_FLAGS: "-DBUILDING_NODE_EXTENSION",
    PINBENCH_SANITIZE: "",
  };
  for (const [name, value] of Object.entries(wanted)) {
    if (setting(name) === value) continue;
    throw new ScriptError(
      `build/ was configured with ${name}=${setting(name)}; remove it and build without CXXFLAGS of your own.`,
    );
  }
}

/** The architectures that a fatbin holds, as the headers of its ELF and PTX parts name them. */
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

function checkKernels() {
  const path = inRoot("build/kernels.fatbin");
  const { elf, ptx } = existsSync(path) ? architecturesOf(readFileSync(path)) : { elf: [], ptx: [] };
  const missing = architectures.filter((one) => !elf.includes(one));
  if (missing.length > 0 || ptx.length === 0) {
    const what = [...missing.map((one) => `sm_${one}`), ...(ptx.length === 0 ? ["PTX"] : [])].join(", ");
    throw new ScriptError(`The kernels lack ${what}: what is handed out is built with nvcc 13 in the path.`);
  }
}

/** Loads a copy as users' Node will, to see that nothing was lost on the way. */
function checkLoads(path, { kernels }) {
  const { build } = createRequire(import.meta.url)(path);
  if (build.sanitizer !== null || build.kernels !== kernels) {
    throw new ScriptError(`${path} is not what was built: ${JSON.stringify(build)}.`);
  }
}

/**
 * Gives all files that a package's folder goes out with the modes of the usual umask: npm packs them as they are, so that
 * the package would depend on who has checked it out.
 */
export async function shareModes(folder) {
  const args = ["pack", "--dry-run", "--ignore-scripts", "--json"];
  const [{ files }] = JSON.parse(await run("npm", args, { cwd: folder, capture: true }));
  for (const { path, mode } of files) chmodSync(join(folder, path), mode & 0o100 ? 0o755 : 0o644);
}

/** Checks what `npm run build` has made and copies it, without what only debuggers read, to where it is packed from. */
export async function copyPrebuilt({ kernels = true } = {}) {
  const target = inRoot(prebuiltFolder);
  checkSettings();
  if (kernels) checkKernels();
  if (findProgram("strip") === null) throw new ScriptError("strip is not on the PATH (Debian: binutils).");
  rmSync(dirname(target), { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  for (const file of prebuiltFiles) {
    cpSync(inRoot("build/Release", file), join(target, file));
    await run("strip", ["--strip-unneeded", join(target, file)]);
  }
  writeFileSync(join(target, hashName), hashesOf(target));
  await checkPortability(prebuiltFiles.map((file) => join(target, file)));
  if (kernels) checkLoads(join(target, prebuiltFiles[0]), { kernels });
}

/**
 * Copies what `pinbench build` compiles to where it is packed from, without the lines that are comments: they are a quarter
 * of what the sources weigh. Empty lines stand in their places, so that errors name the lines of the repository.
 */
export function copySources() {
  const target = inRoot("prebuilds/sources");
  for (const source of ["CMakeLists.txt", "cuda"]) {
    cpSync(inRoot(source), join(target, source), { recursive: true });
  }
  for (const entry of readdirSync(target, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const comment = entry.name === "CMakeLists.txt" ? /^ *#.*$/gm : /^ *\/\/.*$/gm;
    writeFileSync(file, readFileSync(file, "utf8").replace(comment, ""));
  }
}
