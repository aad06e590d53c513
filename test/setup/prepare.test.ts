import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FakeCheckout } from "./fake-checkout.js";

describe("prepare", () => {
  /** Built once, as a build takes most of a test's time. */
  const built = new FakeCheckout();
  let first: ReturnType<FakeCheckout["run"]>;
  let checkout: FakeCheckout;
  beforeAll(() => {
    first = built.run("prepare.mjs");
  });
  beforeEach(() => {
    checkout = new FakeCheckout(built);
  });
  afterEach(() => checkout.delete("."));
  afterAll(() => built.delete("."));

  it("builds everything in a fresh checkout, and prints nothing", () => {
    expect(first).toEqual({ status: 0, output: "", calls: ["tsc", "cmake-js"] });
  });

  it("does nothing when the build is up to date", () => {
    expect(checkout.run("prepare.mjs")).toEqual({ status: 0, output: "", calls: [] });
  });

  it("rebuilds by the contents of files, not by their times", () => {
    checkout.write("cuda/engine/a.cpp", "first");
    expect(checkout.run("prepare.mjs").calls).toEqual([]);
  });

  it.each([
    ["a C++ source changes", "cuda/engine/a.cpp", ["cmake-js"]],
    ["a source is added", "cuda/engine/b.cpp", ["cmake-js"]],
    ["CMakeLists.txt changes", "CMakeLists.txt", ["cmake-js"]],
    ["a TypeScript source changes", "src/cli/main.ts", ["tsc"]],
    ["the Python program changes", "src/tune/python/main.py", ["tsc"]],
    ["the Python hook changes", "src/tune/python/sitecustomize.py", ["tsc"]],
    ["the Python program of explain changes", "src/explain/program/main.py", ["tsc"]],
    ["the style sheet of pages changes", "src/draw/page/page.css", ["tsc"]],
    ["the dependencies change", "package-lock.json", ["tsc", "cmake-js"]],
  ])("builds what is out of date when %s", (_, file, calls) => {
    checkout.write(file, "second");
    expect(checkout.run("prepare.mjs").calls).toEqual(calls);
  });

  it.each([
    ["dist", ["tsc"]],
    ["dist/program/main.js", ["tsc"]],
    ["dist/tune/python/main.py", ["tsc"]],
    ["dist/explain/program/main.py", ["tsc"]],
    ["dist/draw/page/page.css", ["tsc"]],
    ["dist/draw/page/browser/reading.js", ["tsc"]],
    ["build/Release/pinbench.node", ["cmake-js"]],
  ])("builds %s again when it is gone", (path, calls) => {
    checkout.delete(path);
    expect(checkout.run("prepare.mjs").calls).toEqual(calls);
  });

  it("shows the compiler's output when a build fails, and builds again the next time", () => {
    checkout.write("cuda/engine/a.cpp", "second");
    checkout.write("cmake-js.fails", "");
    const failed = checkout.run("prepare.mjs");
    expect(failed.status).toBe(1);
    expect(failed.output).toContain("cmake-js says what is wrong");
    checkout.delete("cmake-js.fails");
    expect(checkout.run("prepare.mjs")).toEqual({ status: 0, output: "", calls: ["cmake-js"] });
  });

  it("says in one line that it builds nothing without the development dependencies", () => {
    checkout.delete("node_modules");
    const { status, output, calls } = checkout.run("prepare.mjs");
    expect({ status, calls }).toEqual({ status: 0, calls: [] });
    expect(output).toMatch(/^pinbench: not built, because .*\n$/);
  });

  it("says in one sentence which compilers are missing", () => {
    checkout.write("cuda/engine/a.cpp", "second");
    const { status, output } = checkout.run("prepare.mjs", { PATH: "" });
    expect(status).toBe(1);
    expect(output).toMatch(/^Building pinbench's native part needs .*g\+\+.*apt-get install .*\n$/);
  });
});
