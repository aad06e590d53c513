import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { findProgram, run, ScriptError } from "./process.mjs";

/** Modification time of all files in an archive, as in npm's packages. */
const packedAt = 499_162_500;

/** Sets the file modes of the usual umask, so that archives of equal files are identical. Programs stay executable. */
function evenModes(folder) {
  chmodSync(folder, 0o755);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const info = lstatSync(path);
    if (info.isDirectory()) evenModes(path);
    else if (info.isFile()) chmodSync(path, info.mode & 0o100 ? 0o755 : 0o644);
  }
}

/** Packs a folder under its name. `level` is an xz preset, 0 to 9. */
export async function packTarball(folder, archive, { level = 6 } = {}) {
  evenModes(folder);
  const names = ["-C", dirname(folder), basename(folder)];
  const alike = ["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner"];
  // xz output differs between one thread and several, but not between two and more.
  const xz = `xz -T2 -${level}`;
  await run("tar", [...alike, `--mtime=@${packedAt}`, "-I", xz, "-cf", archive, ...names]);
}

/** Python's own tool for wheels: it writes RECORD, keeps modes and needs no network, unlike build front ends. */
function findWheelTool() {
  const pythons = [findProgram("python3"), "/usr/bin/python3"].filter((path) => path !== null);
  const found = pythons.find((path) => spawnSync(path, ["-m", "wheel", "version"]).status === 0);
  if (found !== undefined) return found;
  throw new ScriptError("No python3 here has the module wheel (Debian: apt-get install python3-wheel).");
}

/** Packs a folder with a dist-info into a wheel in `target`, named by its WHEEL file. */
export async function packWheel(folder, target) {
  evenModes(folder);
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(packedAt) };
  await run(findWheelTool(), ["-m", "wheel", "pack", "--dest-dir", target, folder], { env, quiet: true });
}

/** Writes a file's hash next to it, in the format of `sha256sum --check`. */
export function writeHash(file) {
  const hash = createHash("sha256").update(readFileSync(file)).digest("hex");
  writeFileSync(`${file}.sha256`, `${hash}  ${basename(file)}\n`);
}
