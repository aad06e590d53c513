import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeCheckout } from "./fake-checkout.js";

/** Answers as far as CMakeLists.txt asks, with no architecture that it would compile for. */
const fakeNvcc = (version: string) => `#!/bin/sh
[ "$1" = --version ] && echo "release ${version}"
exit 0
`;

describe("nvcc", () => {
  let checkout: FakeCheckout;
  beforeEach(() => {
    checkout = new FakeCheckout();
  });
  afterEach(() => checkout.delete("."));

  const folder = (name: string) => join(checkout.root, name);
  const searching = (path: string, home: string, other: string) => ({
    PATH: [folder(path), dirname(process.execPath), "/usr/bin", "/bin"].join(":"),
    CUDA_HOME: folder(home),
    CUDA_PATH: folder(other),
  });

  it("in another version causes the native part to be built again", () => {
    const env = searching("bin", "home", "other");
    checkout.write("bin/nvcc", fakeNvcc("12.4"), 0o755);
    checkout.run("prepare.mjs", env);
    expect(checkout.run("prepare.mjs", env).calls).toEqual([]);
    checkout.write("bin/nvcc", fakeNvcc("13.0"), 0o755);
    expect(checkout.run("prepare.mjs", env).calls).toEqual(["cmake-js"]);
  });

  it.each([
    ["fails", "#!/bin/sh\necho broken >&2\nexit 1\n"],
    ["does not start", "#!/no/such/shell\n"],
  ])("that %s does not fail the build, which is repeated once nvcc works", (_, broken) => {
    const env = searching("bin", "home", "other");
    checkout.write("home/bin/nvcc", broken, 0o755);
    expect(checkout.run("prepare.mjs", env)).toEqual({ status: 0, output: "", calls: ["tsc", "cmake-js"] });
    expect(checkout.run("prepare.mjs", env).calls).toEqual([]);
    checkout.write("home/bin/nvcc", fakeNvcc("13.0"), 0o755);
    expect(checkout.run("prepare.mjs", env).calls).toEqual(["cmake-js"]);
  });

  // Only the search is configured: no compiler runs.
  it.skipIf(!existsSync("/usr/bin/cmake")).each([
    ["CUDA_HOME", ["home/bin", "other/bin", "path"]],
    ["CUDA_PATH", ["other/bin", "path"]],
    ["the PATH", ["path"]],
  ])("is found in %s by the scripts and by CMake alike", (_, places) => {
    const env = { ...process.env, ...searching("path", "home", "other") };
    for (const [i, place] of places.entries()) checkout.write(`${place}/nvcc`, fakeNvcc(`1.${i}`), 0o755);
    const script = 'import { nvccVersion } from "./scripts/lib/toolchain.mjs"; console.log(nvccVersion())';
    const node = ["--input-type=module", "-e", script];
    const seen = spawnSync(process.execPath, node, { cwd: checkout.root, encoding: "utf8", env });
    expect(seen.stdout.trim()).toBe("release 1.0");

    const source = resolve(import.meta.dirname, "../..");
    const configure = ["-S", source, "-B", folder("build"), "-G", "Unix Makefiles"];
    spawnSync("/usr/bin/cmake", configure, { env });
    const cached = spawnSync("/usr/bin/cmake", ["-N", "-L", "-B", folder("build")], {
      encoding: "utf8",
      env,
    });
    expect(cached.stdout).toContain(`PINBENCH_NVCC:FILEPATH=${folder(places[0]!)}/nvcc\n`);
  });
});
