import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { run } from "./process.mjs";
import { inRoot, root } from "./project.mjs";
import { requireToolchain } from "./toolchain.mjs";

/** Compilers at once. Two: enough for the small machines this is built on, and friendly to the others. */
const jobs = "2";

/** CMake refuses a folder that was configured for a checkout at another place; such a cache is of no use. */
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
 * Builds the addon and what lies beside it into `<folder>/Release` through cmake-js, which knows where Node's headers
 * are. Its `compile` command is not used: when a build fails, it deletes the whole folder and starts again.
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

/** Builds everything that needs no Node into a folder, with plain CMake. */
export async function buildPlain(folder, options, { quiet = false } = {}) {
  requireToolchain();
  dropForeignCache(inRoot(folder));
  const configure = ["-S", root, "-B", inRoot(folder), "-G", "Unix Makefiles", ...definitions(options, "-D")];
  await run("cmake", configure, { quiet });
  await run("cmake", ["--build", inRoot(folder), "--parallel", jobs], { quiet });
}
