import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { cacheFolder, candidates, localBuildFolder, prebuiltFolders } from "../../src/native/probe.js";
import { packageRoot } from "../../src/package-facts.js";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "pinbench-home-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(home, { recursive: true, force: true });
});

describe("candidates", () => {
  it("puts a local build before the package's prebuilt module", () => {
    const found = candidates({ HOME: home });
    const prebuilt = prebuiltFolders(process.arch).map((folder) => [
      "prebuilt",
      join(folder, "pinbench.node"),
    ]);
    expect(found.map(({ source, path }) => [source, path])).toEqual([
      ["local build", join(localBuildFolder, "pinbench.node")],
      ...prebuilt,
    ]);
  });

  it("looks for arm64 files in its own package and in npm's package for arm64", () => {
    const own = expect.stringMatching(/\/prebuilds\/linux-arm64$/);
    expect(prebuiltFolders("arm64")).toEqual([own, join(packageRoot, "../pinbench-linux-arm64")]);
    expect(prebuiltFolders("x64")).toEqual([expect.stringMatching(/\/prebuilds\/linux-x64$/)]);
  });

  it("is only the module that PINBENCH_ADDON names, with the emulated driver beside it", () => {
    expect(candidates({ HOME: home, PINBENCH_ADDON: "/p/x.node" })).toEqual([
      {
        source: "PINBENCH_ADDON",
        path: "/p/x.node",
        emulatedLibraryPath: "/p/libpinbench_emulated.so",
      },
    ]);
  });
});

describe("cacheFolder", () => {
  it("is in XDG_CACHE_HOME, or else in the home folder", () => {
    expect(cacheFolder({ HOME: home })).toBe(join(home, ".cache/pinbench"));
    expect(cacheFolder({ HOME: "/none", XDG_CACHE_HOME: join(home, "c") })).toBe(join(home, "c/pinbench"));
  });

  it("ignores a relative XDG_CACHE_HOME, as the XDG specification demands", () => {
    expect(cacheFolder({ HOME: home, XDG_CACHE_HOME: "c" })).toBe(join(home, ".cache/pinbench"));
  });

  it("is null without a home folder, or if that does not exist", () => {
    expect(cacheFolder({})).toBeNull();
    expect(cacheFolder({ HOME: "" })).toBeNull();
    expect(cacheFolder({ HOME: join(home, "none") })).toBeNull();
    const file = join(home, "file");
    writeFileSync(file, "");
    expect(cacheFolder({ XDG_CACHE_HOME: join(file, "c") })).toBeNull();
  });

  it("is null in the home folder of another user", () => {
    mkdirSync(join(home, ".cache"));
    const uid = process.geteuid?.() ?? 0;
    vi.spyOn(process as Required<NodeJS.Process>, "geteuid").mockReturnValue(uid + 1);
    expect(cacheFolder({ HOME: home })).toBeNull();
    expect(cacheFolder({ XDG_CACHE_HOME: home })).toBeNull();
  });
});
