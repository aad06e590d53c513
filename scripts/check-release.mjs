// `npm run check -- release`, and part of `npm pack`: checks the files of a release. Writes the software bill of
// materials to build/sbom.cdx.json. Checks it, that nothing runs during installation, and that compiled files match
// their hashes. Exit code 0 only if all of that holds.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packagesInProgram } from "./lib/bundle-program.mjs";
import { moduleClosure, runtimeDependencies } from "./lib/module-closure.mjs";
import { ownArch } from "./lib/platforms.mjs";
import { hashesOf, hashName, prebuiltFolder } from "./lib/prebuilt.mjs";
import { main, ScriptError } from "./lib/process.mjs";
import { inRoot } from "./lib/project.mjs";
import { makeSbom, sbomProblems } from "./lib/sbom.mjs";

const sbomFile = "build/sbom.cdx.json";
const compiled = prebuiltFolder(ownArch);

const readJson = (path) => JSON.parse(readFileSync(inRoot(path), "utf8"));

/** npm also compiles a package with a binding.gyp, without any script. */
function installProblems() {
  const { scripts } = readJson("package.json");
  const run = ["preinstall", "install", "postinstall"].filter((name) => name in scripts);
  return [
    ...run.map((name) => `package.json has the script ${name}`),
    ...(existsSync(inRoot("binding.gyp")) ? ["there is a binding.gyp"] : []),
  ].map((what) => `${what}: it would run during the installation of pinbench.`);
}

function hashProblems() {
  const folder = inRoot(compiled);
  if (!existsSync(folder)) return [`${compiled} is not there: run node scripts/prebuild.mjs first.`];
  const isSame = readFileSync(join(folder, hashName), "utf8") === hashesOf(folder);
  return isSame ? [] : [`The files in ${compiled} are not those of its ${hashName}.`];
}

await main(async () => {
  const needed = moduleClosure([...runtimeDependencies(), ...packagesInProgram()]);
  const lock = readJson("package-lock.json");
  const sbom = await makeSbom(lock, needed);
  const problems = [...installProblems(), ...hashProblems(), ...sbomProblems(sbom, lock, needed)];
  if (problems.length > 0) throw new ScriptError(problems.join("\n"));
  mkdirSync(inRoot("build"), { recursive: true });
  writeFileSync(inRoot(sbomFile), `${JSON.stringify(sbom, null, 2)}\n`);
  console.log(
    `${sbomFile}: ${sbom.components.length} packages, all of them known; ${compiled} is as its ${hashName} says`,
  );
});
