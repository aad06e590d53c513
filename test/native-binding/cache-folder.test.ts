import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { cacheFolder } from "../../src/native/cache-folder.js";

describe("cacheFolder", () => {
  let home = "";
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "pinbench-home-"));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(home, { recursive: true, force: true });
  });

  it("lies where XDG says, or else in the home", () => {
    expect(cacheFolder({ HOME: home })).toBe(join(home, ".cache/pinbench"));
    expect(cacheFolder({ HOME: "/none", XDG_CACHE_HOME: join(home, "c") })).toBe(join(home, "c/pinbench"));
  });

  it("passes over a relative XDG_CACHE_HOME, as the rules ask", () => {
    expect(cacheFolder({ HOME: home, XDG_CACHE_HOME: "c" })).toBe(join(home, ".cache/pinbench"));
  });

  it("is none without a home, or with one that does not exist", () => {
    expect(cacheFolder({})).toBeNull();
    expect(cacheFolder({ HOME: "" })).toBeNull();
    expect(cacheFolder({ HOME: join(home, "none") })).toBeNull();
  });

  it("is none in the home of another user", () => {
    mkdirSync(join(home, ".cache"));
    const uid = process.geteuid?.() ?? 0;
    vi.spyOn(process as Required<NodeJS.Process>, "geteuid").mockReturnValue(uid + 1);
    expect(cacheFolder({ HOME: home })).toBeNull();
    expect(cacheFolder({ XDG_CACHE_HOME: home })).toBeNull();
  });
});
