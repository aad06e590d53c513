// `npm run bundle [-- --out FILE] [-- --with-tests] [-- --without-kernels] [-- --level 0…9] [-- --arch arm64]`: an
// archive of Node, pinbench and its dependencies, for Linux machines with only a GPU driver, and its SHA-256 file.
// `--with-tests` adds the tests and benchmarks that need a GPU. `--without-kernels` and a low xz `--level` make a
// quick trial bundle.
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { packTarball, writeHash } from "./lib/archives.mjs";
import { bundledTests } from "./lib/bundled-tests.mjs";
import { ownArch } from "./lib/platforms.mjs";
import { main, ScriptError } from "./lib/process.mjs";
import { inRoot } from "./lib/project.mjs";
import { checkedSizeMB, copyInto, stageProgram } from "./lib/staged-program.mjs";

/** A program at the top of the bundle that works from any folder, through links and in paths with spaces. */
function writeLauncher(path, command) {
  const script = ["#!/bin/sh", 'here=$(dirname "$(readlink -f "$0")")', command, ""].join("\n");
  writeFileSync(path, script);
  chmodSync(path, 0o755);
}

function addTests(folder) {
  copyInto(folder, bundledTests);
  for (const name of ["gpu", "check", "doctor", "processes", "tune", "live", "load", "trace"]) {
    const command = `exec "$here/runtime/node" "$here/bench/${name}.mjs" "$@"`;
    writeLauncher(join(folder, `bench-${name}`), command);
  }
  // All tests take four to five minutes; the limit ends a hanging run. Tools that slow tests down need more.
  writeLauncher(
    join(folder, "test-gpu"),
    [
      'cd "$here" || exit',
      'test "$TEST_SECONDS" || TEST_SECONDS=350',
      'exec timeout --signal=INT --kill-after=10 "$TEST_SECONDS" \\',
      '  runtime/node node_modules/vitest/vitest.mjs run --config vitest.elsewhere.config.ts --project gpu "$@"',
    ].join("\n"),
  );
}

await main(async () => {
  const { values } = parseArgs({
    options: {
      out: { type: "string" },
      "with-tests": { type: "boolean", default: false },
      "without-kernels": { type: "boolean", default: false },
      level: { type: "string", default: "6" },
      arch: { type: "string", default: ownArch },
    },
  });
  if (values["with-tests"] && values.arch !== ownArch) {
    throw new ScriptError(
      `--with-tests needs programs that are compiled for ${ownArch} alone: leave out --arch ${values.arch}, or make the bundle on a machine with such a processor.`,
    );
  }
  const { version } = JSON.parse(readFileSync(inRoot("package.json"), "utf8"));
  const name = `pinbench-${version}-linux-${values.arch}`;
  const archive = resolve(values.out ?? inRoot(`${name}.tar.xz`));
  const staging = inRoot("build/bundle");
  rmSync(staging, { recursive: true, force: true });
  const folder = join(staging, name);
  const glibc = await stageProgram(folder, {
    kernels: !values["without-kernels"],
    modules: values["with-tests"] ? ["vitest"] : [],
    isForTests: values["with-tests"],
    arch: values.arch,
  });
  writeLauncher(join(folder, "pinbench"), 'exec "$here/runtime/node" "$here/bin/pinbench.js" "$@"');
  if (values["with-tests"]) addTests(folder);
  await packTarball(folder, archive, { level: values.level });
  rmSync(staging, { recursive: true });
  const sizeMB = checkedSizeMB(archive);
  writeHash(archive);
  console.log(`${archive}: ${sizeMB.toFixed(1)} MB, for glibc ${glibc} and newer, and libstdc++`);
});
