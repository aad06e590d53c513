import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { findProgram, run, ScriptError } from "./process.mjs";

/** When all files of an archive were changed, as it says: the time that npm gives those of its packages. */
const packedAt = 499_162_500;

/**
 * Gives a folder's files the modes of the usual umask, whoever made them, so that two archives of the same files
 * are the same, bit for bit. Programs stay programs.
 */
function evenModes(folder) {
  chmodSync(folder, 0o755);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const info = lstatSync(path);
    if (info.isDirectory()) evenModes(path);
    else if (info.isFile()) chmodSync(path, info.mode & 0o100 ? 0o755 : 0o644);
  }
}

/** Packs a folder, which stands in the archive with its name. `level` is one of xz's presets, 0 to 9. */
export async function packTarball(folder, archive, { level = 6 } = {}) {
  evenModes(folder);
  const names = ["-C", dirname(folder), basename(folder)];
  const alike = ["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner"];
  // Several threads write other bytes than one does; how many there are changes nothing.
  const xz = `xz -T2 -${level}`;
  await run("tar", [...alike, `--mtime=@${packedAt}`, "-I", xz, "-cf", archive, ...names]);
}

/** Python's own tool for wheels: writes RECORD, keeps modes, and reaches no network, as build front ends do. */
function findWheelTool() {
  const pythons = [findProgram("python3"), "/usr/bin/python3"].filter((path) => path !== null);
  const found = pythons.find((path) => spawnSync(path, ["-m", "wheel", "version"]).status === 0);
  if (found !== undefined) return found;
  throw new ScriptError("No python3 here has the module wheel (Debian: apt-get install python3-wheel).");
}

/** Packs a folder that has its dist-info into a wheel in `target`, which gets the name that WHEEL gives it. */
export async function packWheel(folder, target) {
  evenModes(folder);
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(packedAt) };
  await run(findWheelTool(), ["-m", "wheel", "pack", "--dest-dir", target, folder], { env, quiet: true });
}

/** Writes the hash of a file beside it, in the form that `sha256sum --check` reads. */
export function writeHash(file) {
  const hash = createHash("sha256").update(readFileSync(file)).digest("hex");
  writeFileSync(`${file}.sha256`, `${hash}  ${basename(file)}\n`);
}
