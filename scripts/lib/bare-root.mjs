import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, realpathSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { findProgram, run, ScriptError } from "./process.mjs";

/** Minimal root file systems, and commands in them. They show what an archive needs but lacks. */

/** Programs that the bundle's launcher and the image's only build step use. */
const programs = ["sh", "readlink", "dirname", "ln"];

const namespaces = ["--mount", "--pid", "--fork"];

/** Why no command can run in another root file system here; null if it can. */
export function rootMissing() {
  if (process.geteuid() !== 0) return "only root may run programs in a file system of their own";
  const { status } = spawnSync("unshare", [...namespaces, "true"]);
  return status === 0 ? null : "this system allows no namespaces (unshare)";
}

/** The shared libraries of programs, as found on this machine, with the loader. */
async function librariesOf(paths) {
  const listed = await run("ldd", paths, { capture: true });
  return [...new Set([...listed.matchAll(/^\s+(?:\S+ => )?(\/\S+) \(0x/gm)].map(([, path]) => path))];
}

/** Fills a folder with this machine's shell, C and C++ libraries, and the harmless devices. */
export async function makeHostRoot(folder) {
  const found = programs.map((name) => findProgram(name) ?? `/bin/${name}`);
  for (const one of ["bin", "lib", "lib64"]) {
    // Newer systems link /bin to /usr/bin, so libraries may be found by either path.
    mkdirSync(join(folder, "usr", one), { recursive: true });
    symlinkSync(`usr/${one}`, join(folder, one));
  }
  for (const one of ["proc", "dev", "opt", "tmp", "usr/local/bin"])
    mkdirSync(join(folder, one), { recursive: true });
  for (const [i, path] of found.entries()) cpSync(realpathSync(path), join(folder, "bin", programs[i]));
  for (const path of await librariesOf([process.execPath, ...found])) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    cpSync(realpathSync(path), join(folder, path));
  }
  await run("mknod", ["-m", "666", join(folder, "dev/null"), "c", "1", "3"]);
  await run("mknod", ["-m", "666", join(folder, "dev/urandom"), "c", "1", "9"]);
}

/** Fills a folder with Debian's smallest system of a release, such as "bullseye", from Debian's packages. */
export async function makeDebianRoot(folder, suite) {
  if (findProgram("debootstrap") === null) {
    throw new ScriptError("debootstrap is not on the PATH (Debian: apt-get install debootstrap).");
  }
  if (!existsSync(`/usr/share/debootstrap/scripts/${suite}`)) {
    throw new ScriptError(`debootstrap knows no release ${suite}.`);
  }
  await run("debootstrap", ["--variant=minbase", suite, folder], { quiet: true });
}

/** Runs a command in such a root; its only variable is PATH. `user` is a user id. */
export function runInRoot(root, command, { user = 0 } = {}) {
  const identity = user === 0 ? [] : [`--setgid=${user}`, `--setuid=${user}`];
  const args = [...namespaces, `--root=${root}`, "--mount-proc=/proc", ...identity, "--wd=/", ...command];
  const { status, stdout, stderr } = spawnSync("unshare", args, {
    env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  return { status, stdout, stderr };
}
