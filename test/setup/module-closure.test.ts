import { spawnSync } from "node:child_process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeCheckout } from "./fake-checkout.js";

describe("the packages that the bundle carries", () => {
  let checkout: FakeCheckout;
  beforeEach(() => {
    checkout = new FakeCheckout();
  });
  afterEach(() => checkout.delete("."));

  function closure(packages: Record<string, object>, names: string[]): string[] {
    checkout.write("package-lock.json", JSON.stringify({ packages }));
    const script = `
      import { moduleClosure } from "./scripts/lib/module-closure.mjs";
      console.log(JSON.stringify(moduleClosure(${JSON.stringify(names)})));`;
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      cwd: checkout.root,
      encoding: "utf8",
    });
    return JSON.parse(stdout);
  }

  it("are the requested ones and their dependencies, and no others", () => {
    const packages = {
      "node_modules/a": { dependencies: { b: "1" } },
      "node_modules/b": { optionalDependencies: { a: "1" } },
      "node_modules/unused": {},
    };
    expect(closure(packages, ["a"])).toEqual(["node_modules/a", "node_modules/b"]);
  });

  it("come from the nearest folder, as Node resolves them", () => {
    const packages = {
      "node_modules/a": { dependencies: { b: "2", c: "1" } },
      "node_modules/a/node_modules/b": { dependencies: { c: "1" } },
      "node_modules/b": {},
      "node_modules/c": {},
    };
    expect(closure(packages, ["a"])).toEqual([
      "node_modules/a",
      "node_modules/a/node_modules/b",
      "node_modules/c",
    ]);
  });

  it("leave out what is for other platforms", () => {
    const packages = {
      "node_modules/a": { optionalDependencies: { musl: "1", windows: "1", arm: "1" } },
      "node_modules/musl": { os: ["linux"], libc: ["musl"] },
      "node_modules/windows": { os: ["win32"] },
      "node_modules/arm": { cpu: ["no-such-cpu"] },
    };
    expect(closure(packages, ["a"])).toEqual(["node_modules/a"]);
  });
});
