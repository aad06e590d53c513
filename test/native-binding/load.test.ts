import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { loadAddon } from "../../src/native/load.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pinbench-load-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

function fileOf(content: string): string {
  const path = join(folder, "pinbench.node");
  writeFileSync(path, content);
  return path;
}

describe("loadAddon", () => {
  it("loads this build, with the emulated driver that lies beside it", () => {
    const { addon, emulatedLibraryPath } = loadAddon();
    expect(addon.build).toMatchObject({ compiler: expect.any(String), kernels: expect.any(Boolean) });
    expect([null, "address", "thread"]).toContain(addon.build.sanitizer);
    expect(emulatedLibraryPath).toMatch(/libpinbench_emulated\.so$/);
  });

  it("loads the module that PINBENCH_ADDON names, and with it that one's emulated driver", () => {
    const path = fileOf("");
    vi.spyOn(process, "dlopen").mockImplementation((module) => {
      Object.assign((module as { exports: object }).exports, { openDriver: () => undefined });
    });
    expect(loadAddon({ PINBENCH_ADDON: path }).emulatedLibraryPath).toBe(
      join(dirname(path), "libpinbench_emulated.so"),
    );
    expect(process.dlopen).toHaveBeenCalledExactlyOnceWith(expect.anything(), path);
  });

  it("says what is missing and how to get it", () => {
    const path = join(folder, "none.node");
    expect(() => loadAddon({ PINBENCH_ADDON: path })).toThrow(
      expect.objectContaining({
        kind: "unavailable",
        message: expect.stringContaining(`there is no ${path}`),
        hint: expect.stringContaining("unset it"),
      }),
    );
  });

  it("says why a file does not load, and runs none as a script", () => {
    const path = fileOf("throw new Error('it was run')");
    expect(() => loadAddon({ PINBENCH_ADDON: path })).toThrow(
      expect.objectContaining({
        kind: "unavailable",
        message: expect.stringMatching(/pinbench\.node does not load: (?!.*it was run).*[^.]\.$/),
      }),
    );
  });

  it("says that another module is not pinbench's", () => {
    const path = fileOf("");
    vi.spyOn(process, "dlopen").mockImplementation(() => undefined);
    expect(() => loadAddon({ PINBENCH_ADDON: path })).toThrow(
      expect.objectContaining({ kind: "unavailable", message: expect.stringContaining("not pinbench's") }),
    );
  });
});
