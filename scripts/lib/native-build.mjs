import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { run } from "./process.mjs";
import { inRoot, root } from "./project.mjs";
import { requireToolchain } from "./toolchain.mjs";

/** Number of parallel compilers: small machines have two CPUs, and others keep theirs. */
const jobs = "2";

/** Removes a cache from a checkout elsewhere, because CMake refuses it. */
function dropForeignCache(folder) {
  const cache = join(folder, "CMakeCache.txt");
  if (existsSync(cache) && !readFileSync(cache, "utf8").includes(`CMAKE_HOME_DIRECTORY:INTERNAL=${root}\n`)) {
    rmSync(cache);
    rmSync(join(folder, "CMakeFiles"), { recursive: true, force: true });
  }
}

const definitions = (options, prefix) =>
  Object.entries(options).map(([name, value]) => `${prefix}${name}=${value}`);

/**
 * Builds the addon and its companions into `<folder>/Release` through cmake-js, which finds Node's headers. Avoids its
 * `compile` command, which deletes the folder and starts again after a failed build.
 */
export async function buildAddon(folder, options, { quiet = false } = {}) {
  requireToolchain();
  dropForeignCache(inRoot(folder));
  const cmakeJs = (command) =>
    run(
      inRoot("node_modules/.bin/cmake-js"),
      [
        command,
        "--out",
        inRoot(folder),
        "--prefer-make",
        "--parallel",
        jobs,
        ...definitions(options, "--CD"),
      ],
      { cwd: root, quiet },
    );
  await cmakeJs("configure");
  await cmakeJs("build");
}

/** Builds all targets that do not need Node into a folder, with plain CMake. */
export async function buildPlain(folder, options, { quiet = false } = {}) {
  requireToolchain();
  dropForeignCache(inRoot(folder));
  const configure = ["-S", root, "-B", inRoot(folder), "-G", "Unix Makefiles", ...definitions(options, "-D")];
  await run("cmake", configure, { quiet });
  await run("cmake", ["--build", inRoot(folder), "--parallel", jobs], { quiet });
}
