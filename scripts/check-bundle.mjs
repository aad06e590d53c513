// `npm run check -- bundle ARCHIVE [RELEASE…]`: whether a bundle runs on minimal systems. These are a file system with
// a shell and this machine's C library, and Debian's smallest system of each RELEASE, such as bookworm.
// Needs root. Exit code 0 only if it runs on all.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { makeDebianRoot, makeHostRoot, rootMissing, runInRoot } from "./lib/bare-root.mjs";
import { main, run, ScriptError } from "./lib/process.mjs";

/** Unpacks the bundle into a folder with spaces and an ampersand in its name, and measures. */
async function check(root, name, archive) {
  const folder = "/opt/a folder & more";
  mkdirSync(join(root, folder), { recursive: true });
  await run("tar", ["-xf", archive, "-C", join(root, folder), "--strip-components=1"]);
  const start = (...args) => {
    const { status, stdout, stderr } = runInRoot(root, [`${folder}/pinbench`, ...args]);
    if (status === 0 && stderr === "") return stdout;
    throw new ScriptError(`${name}: pinbench ${args.join(" ")} ended with ${status}.\n${stdout}${stderr}`);
  };
  const { version, glibc, addon } = JSON.parse(start("--version", "--json"));
  start("run", "--preset", "quick", "--backend", "emulated", "--quiet");
  console.log(
    `${name}: glibc ${glibc}: pinbench ${version} runs, with what is compiled from ${addon.source}`,
  );
}

await main(async () => {
  const [file, ...suites] = process.argv.slice(2);
  if (file === undefined) throw new ScriptError("Name the archive, made by npm run bundle.");
  const archive = resolve(file);
  if (!existsSync(archive)) throw new ScriptError(`There is no ${archive}: npm run bundle makes one.`);
  const missing = rootMissing();
  if (missing !== null) throw new ScriptError(`The bundle cannot be checked here: ${missing}.`);
  const above = mkdtempSync(join(tmpdir(), "pinbench-bare-"));
  try {
    const bare = join(above, "bare");
    await makeHostRoot(bare);
    await check(bare, "a shell and the C library", archive);
    for (const suite of suites) {
      await makeDebianRoot(join(above, suite), suite);
      await check(join(above, suite), suite, archive);
    }
  } finally {
    rmSync(above, { recursive: true, force: true });
  }
});
