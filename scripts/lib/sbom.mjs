import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./process.mjs";

/** Lists and checks the packages that users install with pinbench, from npm's list of the lock file. */

/** Licences that are no stricter than pinbench's own. */
const knownLicences = ["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "0BSD"];

const registry = "https://registry.npmjs.org/";

/**
 * The software bill of materials (CycloneDX JSON) of the packages in these folders of the lock file. npm makes it for a
 * project with only these packages, because its `--omit dev` (11.19) also drops packages that development shares.
 */
export async function makeSbom(lock, needed) {
  const temporary = mkdtempSync(join(tmpdir(), "pinbench-sbom-"));
  try {
    // npm names a project after its folder.
    const folder = join(temporary, lock.name);
    mkdirSync(folder);
    const { devDependencies: __, ...project } = lock.packages[""];
    project.dependencies = Object.fromEntries(
      needed.map((one) => [one.replace(/^.*node_modules\//, ""), lock.packages[one].version]),
    );
    const packages = Object.fromEntries(needed.map((one) => [one, withoutMarks(lock.packages[one])]));
    const write = (name, value) => writeFileSync(join(folder, name), JSON.stringify(value));
    write("package.json", project);
    write("package-lock.json", { ...lock, packages: { "": project, ...packages } });
    const args = ["sbom", "--package-lock-only", "--sbom-format", "cyclonedx"];
    const { serialNumber: _, ...sbom } = JSON.parse(await run("npm", args, { cwd: folder, capture: true }));
    // Sorted, so that the same packages give the same text.
    delete sbom.metadata.timestamp;
    return sbom;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

function withoutMarks({ dev: _, devOptional: __, ...entry }) {
  return entry;
}

function licencesOf({ licenses = [] }) {
  return licenses.map(({ license, expression }) => license?.id ?? license?.name ?? expression);
}

/**
 * Faults of an SBOM, one sentence each. `needed` has the folders from `moduleClosure()`, `lock` is the parsed
 * package-lock.json.
 */
export function sbomProblems(sbom, lock, needed) {
  const listed = sbom.components.map(({ name, version }) => `${name}@${version}`);
  const known = needed.map((folder) => ({
    name: folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length),
    ...lock.packages[folder],
  }));
  const expected = known.map(({ name, version }) => `${name}@${version}`);
  return [
    ...expected
      .filter((one) => !listed.includes(one))
      .map((one) => `${one} is needed at run time and not listed.`),
    ...listed
      .filter((one) => !expected.includes(one))
      .map((one) => `${one} is listed, but nothing needs it at run time.`),
    ...sbom.components.flatMap((component) => {
      const licences = licencesOf(component);
      const isKnown = licences.length > 0 && licences.every((one) => knownLicences.includes(one));
      const named = licences.join(", ") || "none";
      return isKnown
        ? []
        : [`${component.name}@${component.version} has a licence that is not known to fit: ${named}.`];
    }),
    // An entry without an address comes from the user's registry.
    ...known.flatMap(({ name, version, resolved = registry, integrity, hasInstallScript }) => [
      ...(resolved.startsWith(registry) ? [] : [`${name}@${version} does not come from ${registry}.`]),
      ...(integrity?.startsWith("sha512-")
        ? []
        : [`${name}@${version} has no SHA-512 in package-lock.json.`]),
      ...(hasInstallScript ? [`${name}@${version} runs a script during installation.`] : []),
    ]),
  ];
}
