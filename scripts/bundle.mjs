// `npm run bundle [-- --with-tests] [-- --out FILE]`: one archive with Node itself, pinbench and what it needs at run
// time, for x86-64 Linux machines that have a GPU driver and nothing else. `--with-tests` adds the tests and the
// benchmarks that want a GPU.
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ensureBuilt } from "./lib/build.mjs";
import { neededGlibc } from "./lib/dynamic-symbols.mjs";
import { moduleClosure, runtimeDependencies } from "./lib/module-closure.mjs";
import { main, run, ScriptError } from "./lib/process.mjs";
import { inRoot } from "./lib/project.mjs";

const maxArchiveMB = 40;

const program = [
  "package.json",
  "bin",
  "dist",
  "schema",
  "build/Release/pinbench.node",
  "build/Release/libpinbench_emulated.so",
];
// Tests may import from src/; the copy loop's sources go along so that its figures can be checked anywhere.
const tests = [
  "src",
  "test/gpu",
  "test/helpers",
  "vitest.gpu.config.ts",
  "bench",
  "cuda/driver/cuda_abi.hpp",
  "cuda/kernels",
  "build/Release/copy_loop",
  "build/Release/load_loop",
];

/** Libraries that every such machine has: the C library, and the compiler's runtime that drivers need as well. */
const systemLibraries =
  /^(linux-vdso|ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|libatomic)\.so/;

async function checkPortable(executable) {
  const lines = (await run("ldd", [executable], { capture: true })).trim().split("\n");
  const others = lines
    .map((line) => basename(line.trim().split(/\s/)[0]))
    .filter((name) => !systemLibraries.test(name));
  if (others.length > 0) {
    throw new ScriptError(
      `${executable} needs ${others.join(", ")}, which other machines may lack; run this with a Node from nodejs.org.`,
    );
  }
}

/** A program at the top of the bundle that works from any folder, through links and in paths with spaces. */
function writeLauncher(path, command) {
  const script = ["#!/bin/sh", 'here=$(dirname "$(readlink -f "$0")")', command, ""].join("\n");
  writeFileSync(path, script);
  chmodSync(path, 0o755);
}

/** Leaves out of a package what Node never reads; licences stay. */
const isNeededAtRunTime = (path) => !/\.(map|ts|mts|cts|flow)$|(readme|changelog)\.md$/i.test(path);

function copyInto(folder, paths, filter = () => true) {
  for (const path of paths) {
    if (!existsSync(inRoot(path))) throw new ScriptError(`The bundle needs ${path}, which is not there.`);
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(inRoot(path), join(folder, path), { recursive: true, filter });
  }
}

function copyNode(folder) {
  mkdirSync(join(folder, "runtime"));
  cpSync(process.execPath, join(folder, "runtime/node"));
  const prefix = resolve(process.execPath, "../..");
  const license = [join(prefix, "LICENSE"), join(prefix, "share/doc/nodejs/LICENSE")].find(existsSync);
  if (license !== undefined) cpSync(license, join(folder, "runtime/LICENSE"));
}

await main(async () => {
  const { values } = parseArgs({
    options: { "with-tests": { type: "boolean", default: false }, out: { type: "string" } },
  });
  await checkPortable(process.execPath);
  await ensureBuilt();

  const { version } = JSON.parse(readFileSync(inRoot("package.json"), "utf8"));
  const name = `pinbench-${version}-linux-${process.arch}`;
  const archive = resolve(values.out ?? inRoot(`${name}.tar.xz`));
  const staging = inRoot("build/bundle");
  const folder = join(staging, name);
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });

  copyNode(folder);
  copyInto(folder, program, (path) => !/\.(map|d\.ts)$/.test(path));
  writeLauncher(join(folder, "pinbench"), 'exec "$here/runtime/node" "$here/bin/pinbench.js" "$@"');
  const modules = runtimeDependencies();
  const binaries = ["runtime/node", "build/Release/pinbench.node", "build/Release/libpinbench_emulated.so"];
  if (values["with-tests"]) {
    copyInto(folder, tests);
    modules.push("vitest");
    binaries.push("build/Release/copy_loop", "build/Release/load_loop");
    writeLauncher(join(folder, "bench-gpu"), 'exec "$here/runtime/node" "$here/bench/gpu.mjs" "$@"');
    writeLauncher(join(folder, "bench-check"), 'exec "$here/runtime/node" "$here/bench/check.mjs" "$@"');
    writeLauncher(
      join(folder, "bench-processes"),
      'exec "$here/runtime/node" "$here/bench/processes.mjs" "$@"',
    );
    writeLauncher(join(folder, "bench-tune"), 'exec "$here/runtime/node" "$here/bench/tune.mjs" "$@"');
    writeLauncher(join(folder, "bench-live"), 'exec "$here/runtime/node" "$here/bench/live.mjs" "$@"');
    writeLauncher(
      join(folder, "test-gpu"),
      'cd "$here" && exec runtime/node node_modules/vitest/vitest.mjs run --config vitest.gpu.config.ts "$@"',
    );
  }
  copyInto(folder, moduleClosure(modules), isNeededAtRunTime);

  const tar = [
    "-C",
    staging,
    "--sort=name",
    "--owner=0",
    "--group=0",
    "-I",
    "xz -T0 -6",
    "-cf",
    archive,
    name,
  ];
  await run("tar", tar);
  const glibc = neededGlibc(binaries.map((file) => join(folder, file)));
  rmSync(staging, { recursive: true });
  const sizeMB = statSync(archive).size / 1e6;
  if (sizeMB > maxArchiveMB) {
    rmSync(archive);
    throw new ScriptError(
      `The bundle has ${sizeMB.toFixed(1)} MB, more than the ${maxArchiveMB} MB it may have.`,
    );
  }
  console.log(`${archive}: ${sizeMB.toFixed(1)} MB, for glibc ${glibc} and newer`);
});
