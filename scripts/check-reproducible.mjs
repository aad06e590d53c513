// `npm run check -- reproducible`: whether compiled files are reproducible bit for bit. Builds this checkout twice from
// scratch, in different folders, orders and environments, at different times. Compares compiled files, npm's packages,
// the bundle and the wheel. Exit code 0 only if they are equal. Other compilers produce other files.
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ownArch, wheelMachine } from "./lib/platforms.mjs";
import { hashName, prebuiltFiles, prebuiltFolder } from "./lib/prebuilt.mjs";
import { findProgram, main, run, ScriptError } from "./lib/process.mjs";
import { inRoot, root } from "./lib/project.mjs";
import { nvccVersion } from "./lib/toolchain.mjs";

/** Variables that must not affect a build. Folders differ in length, which shifts the bytes after a path. */
const builds = [
  {
    folder: "a",
    umask: "022",
    isReversed: false,
    environment: { LC_ALL: "C", TZ: "UTC", USER: "root", LOGNAME: "root", MAKEFLAGS: "" },
  },
  {
    folder: "another place, with blanks & a longer name",
    umask: "077",
    isReversed: true,
    environment: {
      LC_ALL: "C.UTF-8",
      TZ: "Asia/Kathmandu",
      USER: "else",
      LOGNAME: "else",
      MAKEFLAGS: "--no-print-directory",
    },
  },
];

/** The arm64 package holds only compiled files. It is compared if it can be compiled here. */
const isForArm64 = findProgram("aarch64-linux-gnu-g++") !== null;

const aYearAgo = new Date(Date.now() - 365 * 24 * 3600e3);

/** Copies git's files from the working tree. Written in reverse order, folders list them in another order. */
async function copyCheckout(target, { isReversed, umask }) {
  const listed = await run("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    capture: true,
  });
  const files = listed.split("\0").filter((name) => name !== "");
  for (const file of isReversed ? files.reverse() : files) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(inRoot(file), join(target, file));
    if (umask === "077") chmodSync(join(target, file), statSync(inRoot(file)).mode & 0o700);
    if (isReversed) utimesSync(join(target, file), aYearAgo, aYearAgo);
  }
  symlinkSync(inRoot("node_modules"), join(target, "node_modules"));
}

async function buildAt(target, place) {
  const kernels = nvccVersion() === null ? " --without-kernels" : "";
  const steps = [
    `umask ${place.umask}`,
    `node scripts/prebuild.mjs${kernels}`,
    "npm pack --ignore-scripts --silent",
    `node scripts/bundle.mjs${kernels}`,
    `node scripts/wheel.mjs${kernels}`,
    ...(isForArm64 ? [`node scripts/pack-arm64.mjs${kernels}`] : []),
  ];
  const env = { ...process.env, ...place.environment };
  delete env.CXXFLAGS;
  await run("sh", ["-c", steps.join(" && ")], { cwd: target, env, quiet: true });
  const { version } = JSON.parse(readFileSync(inRoot("package.json"), "utf8"));
  const made = [...prebuiltFiles, hashName].map((file) => join(prebuiltFolder(ownArch), file));
  const packed = [
    `pinbench-${version}.tgz`,
    `pinbench-${version}-linux-${ownArch}.tar.xz`,
    `pinbench-${version}-py3-none-manylinux_2_28_${wheelMachine(ownArch)}.whl`,
    ...(isForArm64 ? [`pinbench-linux-arm64-${version}.tgz`] : []),
  ];
  return [...made, ...packed].map((file) => ({ file, hash: hashOf(join(target, file)) }));
}

const hashOf = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");

async function versionOf(program) {
  return (await run(program, ["--version"], { capture: true })).split("\n")[0];
}

await main(async () => {
  const above = mkdtempSync(join(tmpdir(), "pinbench-reproducible-"));
  try {
    const targets = builds.map(({ folder }) => join(above, folder));
    // Copies both before the first build, which takes minutes: the checkout may change meanwhile.
    for (const [i, target] of targets.entries()) await copyCheckout(target, builds[i]);
    const [first, second] = [await buildAt(targets[0], builds[0]), await buildAt(targets[1], builds[1])];
    const differing = first.filter(({ hash }, i) => hash !== second[i].hash);
    for (const { file, hash } of first) console.log(`${hash}  ${file}`);
    const nvcc = nvccVersion()?.match(/release .*/)?.[0] ?? "none: without kernels, so not as in a release";
    console.log(
      `made by ${await versionOf("g++")}; ${await versionOf("ld")}; nvcc ${nvcc}; Node ${process.version}`,
    );
    if (differing.length > 0) {
      throw new ScriptError(
        `Two builds of the same sources differ in ${differing.map(({ file }) => file).join(", ")}.`,
      );
    }
    console.log("Both builds are the same, bit for bit.");
  } finally {
    rmSync(above, { recursive: true, force: true });
  }
});
