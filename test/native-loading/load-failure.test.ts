import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  explainFailure,
  type LoadFailure,
  neededGlibc,
  nothingLoads,
} from "../../src/native/load-failure.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

const old = "2.27";
const musl = null;

const refused = (message: string, glibc: string | null = old) =>
  explainFailure({ kind: "refused", message }, glibc);

describe("why a module did not load", () => {
  it.each<[string, string | null, LoadFailure["kind"], string]>([
    [
      "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by /p/pinbench.node)",
      old,
      "glibc",
      "it needs glibc 2.34 or newer, and this system has 2.27",
    ],
    [
      "/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by /p/pinbench.node)",
      old,
      "dependency",
      "it needs a newer C++ runtime (GLIBCXX_3.4.30)",
    ],
    [
      "Error loading shared library ld-linux-x86-64.so.2: No such file or directory (needed by /p/pinbench.node)",
      musl,
      "musl",
      "it is for glibc, and this system has another C library (musl)",
    ],
    [
      "Error relocating /p/pinbench.node: __memcpy_chk: symbol not found",
      musl,
      "musl",
      "it is for glibc, and this system has another C library (musl)",
    ],
    [
      "/p/pinbench.node: failed to map segment from shared object",
      old,
      "noexec",
      "nothing may be executed from there (is it mounted noexec?)",
    ],
    ["/p/pinbench.node: file too short", old, "damaged", "it is damaged"],
    ["/p/pinbench.node: invalid ELF header", old, "damaged", "it is damaged"],
    [
      "libgcc_s.so.1: cannot open shared object file: No such file or directory",
      old,
      "dependency",
      "it needs libgcc_s.so.1, which is not there",
    ],
    [
      "ld-linux-x86-64.so.2: cannot open shared object file: No such file or directory",
      old,
      "dependency",
      "it needs ld-linux-x86-64.so.2, which is not there",
    ],
    [
      "Cannot load native addon because loading addons is disabled.",
      old,
      "permission",
      "Node's permission model forbids it",
    ],
    [
      "/p/pinbench.node: cannot open shared object file: Permission denied",
      old,
      "unreadable",
      "it may not be read",
    ],
    ["Something else.\n", old, "other", "Something else"],
  ])("is explained for: %s", (message, glibc, kind, reason) => {
    expect(refused(message, glibc)).toEqual({ kind, reason });
  });

  it("is explained for a crash, an exit and a hang", () => {
    expect(explainFailure({ kind: "crashed", signal: "SIGILL" }, old).reason).toContain("this CPU lacks");
    expect(explainFailure({ kind: "crashed", signal: "SIGSEGV" }, old).reason).toContain("SIGSEGV");
    expect(explainFailure({ kind: "ended", exitCode: 3 }, old).reason).toContain("exit code 3");
    expect(explainFailure({ kind: "hung" }, old).reason).toContain("within 30 s");
  });
});

describe("the error if nothing loads", () => {
  const failed = (kind: LoadFailure["kind"], reason: string) => ({
    source: "prebuilt" as const,
    path: "/p/pinbench.node",
    emulatedLibraryPath: "/p/libpinbench_emulated.so",
    failure: { kind, reason },
  });

  it("lists what was tried and what to do", () => {
    const both = [failed("damaged", "it is empty"), failed("glibc", "it needs glibc 2.34 or newer")];
    const { message, hint } = nothingLoads(both, "2.27");
    expect(message).toMatch(/glibc 2\.27.*\n {2}prebuilt \/p\/pinbench\.node: it is empty\.\n/s);
    expect(message).toMatch(/\n {2}prebuilt \/p\/pinbench\.node: it needs glibc 2\.34 or newer\.$/s);
    expect(nothingLoads(both, null).message).toContain(", no glibc, ");
    expect(hint).toMatch(/git clone .*npm ci .*PINBENCH_ADDON=/s);
  });

  it("blames Node's permission model if that forbids loading one of the modules", () => {
    const { message, hint } = nothingLoads([failed("missing", "…"), failed("permission", "…")], "2.27");
    expect(message).toBe("Node's permission model forbids loading the compiled module.");
    expect(hint).toContain("--allow-addons");
  });

  it.each<[LoadFailure["kind"], RegExp]>([
    ["damaged", /install pinbench again/],
    ["musl", /Node for glibc/],
    ["noexec", /file system/],
  ])("gives its own remedy for the failure %s", (kind, remedy) => {
    expect(nothingLoads([failed(kind, "…")], null).hint).toMatch(remedy);
  });
});

it.each([
  ["GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0", "2.34"],
  ["\x7fELF", null],
])("the glibc needed by a library that names %j is the newest of them: %s", (text, version) => {
  expect(neededGlibc(join(fixtureRoot({ "pinbench.node": text }), "pinbench.node"))).toBe(version);
});
