import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
// @ts-expect-error Scripts are JavaScript without types.
import { moduleClosure, runtimeDependencies } from "../../scripts/lib/module-closure.mjs";
// @ts-expect-error Scripts are JavaScript without types.
import { shareModes } from "../../scripts/lib/prebuilt.mjs";
// @ts-expect-error Scripts are JavaScript without types.
import { makeSbom, sbomProblems } from "../../scripts/lib/sbom.mjs";

const lock = JSON.parse(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8"));

/** A lock file with one package that is needed, and an SBOM that lists it; `component` and `entry` have the last word. */
function build({ component = {}, entry = {} }: { component?: object; entry?: object } = {}) {
  const listed = { name: "one", version: "1.0.0", licenses: [{ license: { id: "MIT" } }], ...component };
  const locked = { version: "1.0.0", integrity: "sha512-AAAA", ...entry };
  return [
    { components: [listed] },
    { packages: { "node_modules/one": locked } },
    ["node_modules/one"],
  ] as const;
}

describe("the software bill of materials", () => {
  it("lists all that pinbench needs at run time, with licences that are known, and nothing else", async () => {
    const needed = moduleClosure(runtimeDependencies());
    const sbom = await makeSbom(lock, needed);
    expect(sbomProblems(sbom, lock, needed)).toEqual([]);
    expect(sbom).toMatchObject({ bomFormat: "CycloneDX", metadata: { component: { name: "pinbench" } } });
    const names = sbom.components.map(({ name }: { name: string }) => name);
    for (const name of runtimeDependencies()) expect(names).toContain(name);
  });

  it("is refused with a reason for each problem in it", () => {
    expect(sbomProblems(...build())).toEqual([]);
    const [sbom, one, needed] = build();
    expect(sbomProblems({ components: [] }, one, needed)).toEqual([
      "one@1.0.0 is needed at run time and not listed.",
    ]);
    expect(sbomProblems(sbom, one, [])).toEqual(["one@1.0.0 is listed, but nothing needs it at run time."]);
    expect(
      sbomProblems(...build({ component: { licenses: [{ license: { id: "AGPL-3.0-only" } }] } })),
    ).toEqual(["one@1.0.0 has a licence that is not known to fit: AGPL-3.0-only."]);
    expect(sbomProblems(...build({ component: { licenses: [] } }))).toEqual([
      "one@1.0.0 has a licence that is not known to fit: none.",
    ]);
    const entry = { resolved: "http://127.0.0.1/one.tgz", integrity: undefined, hasInstallScript: true };
    expect(sbomProblems(...build({ entry }))).toEqual([
      "one@1.0.0 does not come from https://registry.npmjs.org/.",
      "one@1.0.0 has no SHA-512 in package-lock.json.",
      "one@1.0.0 runs a script during installation.",
    ]);
  });
});

it("a package has the same file modes, whatever the umask of the checkout", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-modes-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const names = { "package.json": 0o600, "run.js": 0o700, "text.md": 0o640, "kept.txt": 0o600 };
  for (const [name, mode] of Object.entries(names)) {
    writeFileSync(join(folder, name), '{"name": "one", "version": "1.0.0", "files": ["run.js", "text.md"]}');
    chmodSync(join(folder, name), mode);
  }
  await shareModes(folder);
  const modes = Object.keys(names).map((name) => statSync(join(folder, name)).mode & 0o777);
  expect(modes).toEqual([0o644, 0o755, 0o644, 0o600]);
});
