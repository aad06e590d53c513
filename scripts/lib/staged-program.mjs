import { createHash } from "node:crypto";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ensureBuilt } from "./build.mjs";
import { packagesInProgram } from "./bundle-program.mjs";
import { neededGlibc } from "./dynamic-symbols.mjs";
import { moduleClosure, runtimeDependencies } from "./module-closure.mjs";
import { licenceOfNode, nodeFor, ownArch } from "./platforms.mjs";
import { checkManylinux } from "./portability.mjs";
import { copyPrebuilt, prebuiltFiles, prebuiltFolder } from "./prebuilt.mjs";
import { ScriptError } from "./process.mjs";
import { inRoot } from "./project.mjs";
import { makeSbom, sbomProblems } from "./sbom.mjs";

/** The common content of tarball and wheel: Node, pinbench and its dependencies. */

/** Size limit for each, because they go to many machines and into images. */
const maxMB = 40;

/** pinbench's files in the package, without the sources that only npm's package compiles. */
const shipped = JSON.parse(readFileSync(inRoot("package.json"), "utf8")).files.filter((path) =>
  /^(bin|dist|docs|schema|SECURITY)/.test(path),
);

/** Drops files of packages that Node never reads, but keeps licences. */
const isNeededAtRunTime = (path) =>
  !/\.(map|ts|mts|cts|flow)$|(readme|changelog)\.md$|__pycache__$/i.test(path);

export function copyInto(folder, paths, filter = () => true) {
  for (const path of paths) {
    if (!existsSync(inRoot(path))) throw new ScriptError(`${inRoot(path)} is missing.`);
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(inRoot(path), join(folder, path), { recursive: true, filter });
  }
}

function copyNode(node, folder) {
  mkdirSync(join(folder, "runtime"));
  cpSync(node, join(folder, "runtime/node"));
  chmodSync(join(folder, "runtime/node"), 0o755);
  cpSync(licenceOfNode(node), join(folder, "runtime/LICENSE"));
}

/** The software bill of materials of the packages and of the included Node. */
async function writeSbom(folder, node) {
  const lock = JSON.parse(readFileSync(inRoot("package-lock.json"), "utf8"));
  const needed = moduleClosure(packagesInProgram());
  const sbom = await makeSbom(lock, needed);
  const problems = sbomProblems(sbom, lock, needed);
  if (problems.length > 0) throw new ScriptError(problems.join("\n"));
  const hash = createHash("sha256").update(readFileSync(node)).digest("hex");
  sbom.components.push({
    "bom-ref": `node@${process.versions.node}`,
    type: "application",
    name: "node",
    version: process.versions.node,
    purl: `pkg:generic/node@${process.versions.node}`,
    licenses: [{ license: { name: "MIT and those of its parts: runtime/LICENSE" } }],
    hashes: [{ alg: "SHA-256", content: hash }],
  });
  writeFileSync(join(folder, "sbom.cdx.json"), `${JSON.stringify(sbom, null, 2)}\n`);
}

/**
 * Fills an empty folder with a pinbench that runs as `runtime/node bin/pinbench.js`, and checks that its compiled files
 * run on manylinux_2_28. `modules` are extra packages; `isForTests` takes the local build instead of the shipped one;
 * `arch` is the architecture. Returns the oldest glibc that is enough.
 */
export async function stageProgram(
  folder,
  { kernels = true, modules = [], isForTests = false, arch = ownArch } = {},
) {
  const node = await nodeFor(arch);
  await checkManylinux([node]);
  await ensureBuilt({ quiet: true });
  const compiledFolder = isForTests ? "build/Release" : prebuiltFolder(arch);
  const compiled = prebuiltFiles.map((file) => join(compiledFolder, file));
  mkdirSync(folder, { recursive: true });
  copyNode(node, folder);
  const program = [
    "package.json",
    "README.md",
    "LICENSE",
    ...(isForTests ? ["bin", "dist", "schema"] : shipped),
  ];
  copyInto(folder, program, (path) => !/\.(map|d\.ts)$|__pycache__$/.test(path));
  if (isForTests) copyInto(folder, compiled);
  else await copyPrebuilt(join(folder, compiledFolder), { kernels, arch });
  // Tests and benchmarks import unbundled modules, which find packages as usual in Node.
  const packages = isForTests ? [...runtimeDependencies(), ...packagesInProgram(), ...modules] : [];
  copyInto(folder, moduleClosure(packages), isNeededAtRunTime);
  await writeSbom(folder, node);
  return neededGlibc(["runtime/node", ...compiled].map((file) => join(folder, file)));
}

/** The size of an archive in MB. Throws a ScriptError if it exceeds the limit. */
export function checkedSizeMB(archive) {
  const sizeMB = statSync(archive).size / 1e6;
  if (sizeMB <= maxMB) return sizeMB;
  throw new ScriptError(`${archive} has ${sizeMB.toFixed(1)} MB, more than the ${maxMB} MB it may have.`);
}
