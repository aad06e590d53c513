import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { loadAddon } from "../../src/native/load.js";
import { type AddonCandidate, candidates, probe } from "../../src/native/probe.js";

let folder = "";
let candidate: AddonCandidate;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pinbench-probe-"));
  [candidate] = candidates({ PINBENCH_ADDON: join(folder, "pinbench.node") }) as [AddonCandidate];
  copyFileSync(loadAddon().path, candidate.path);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const tryIt = () => probe(candidate, false, { XDG_CACHE_HOME: join(folder, "cache") });

it("a module that has loaded is not tested in a process again, even if the cache is full", () => {
  const known = join(folder, "cache/pinbench/loaded.json");
  mkdirSync(dirname(known), { recursive: true });
  writeFileSync(known, JSON.stringify(Array.from({ length: 32 }, (_, i) => `module ${i}`)));
  // The user's NODE_OPTIONS may be invalid for this Node.
  vi.stubEnv("NODE_OPTIONS", "--require /nowhere/at-all.cjs");
  expect(tryIt()).toEqual({ kind: "loads" });
  // probe() gets child_process by this call.
  const starts = vi.spyOn(process, "getBuiltinModule");
  expect(tryIt()).toEqual({ kind: "loads" });
  expect(starts).not.toHaveBeenCalled();
});

it("a module is tested again if one of the same size has overwritten it in place", () => {
  expect(tryIt()).toEqual({ kind: "loads" });
  const before = statSync(candidate.path);
  writeFileSync(candidate.path, readFileSync(candidate.path).fill(0xff, 64, 4096));
  const { ino, size } = statSync(candidate.path);
  expect({ ino, size }).toEqual({ ino: before.ino, size: before.size });
  expect(tryIt().kind).not.toBe("loads");
});

it("a module loads without the cache if that is a named pipe or its folder cannot be made", () => {
  mkdirSync(join(folder, "cache/pinbench"), { recursive: true });
  execFileSync("mkfifo", [join(folder, "cache/pinbench/loaded.json")]);
  expect(tryIt()).toEqual({ kind: "loads" });
  expect(probe(candidate, false, { XDG_CACHE_HOME: "/proc/cache" })).toEqual({ kind: "loads" });
  // The pipe is replaced; a folder cannot be, and nothing is left beside it.
  rmSync(join(folder, "cache/pinbench/loaded.json"));
  mkdirSync(join(folder, "cache/pinbench/loaded.json"));
  expect(tryIt()).toEqual({ kind: "loads" });
  expect(readdirSync(join(folder, "cache/pinbench"))).toEqual(["loaded.json"]);
});

it("a module that never finishes loading is reported to hang, not to be killed", () => {
  const spawnSync = () => ({
    stdout: '{"kind":"started"}\n',
    error: Object.assign(new Error("spawnSync node ETIMEDOUT"), { code: "ETIMEDOUT" }),
    ...{ signal: "SIGKILL", status: null },
  });
  vi.spyOn(process, "getBuiltinModule").mockReturnValue({ spawnSync } as never);
  expect(tryIt()).toEqual({ kind: "hung" });
});
