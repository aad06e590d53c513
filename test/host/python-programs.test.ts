import { describe, expect, it } from "vitest";
import { trainingPath, usualPython } from "../../src/host/python/python-programs.js";

const PINBENCH_PYTHON = "/home/me/env with spaces/bin/python3";

describe("the Python that loads a data set", () => {
  it("is the one in the path, if pinbench came without a Python", () => {
    expect(usualPython({ PATH: "/usr/bin" })).toBe("python3");
  });

  it("is the Python in which pinbench's wheel is installed", () => {
    expect(usualPython({ PATH: "/usr/bin", PINBENCH_PYTHON })).toBe(PINBENCH_PYTHON);
  });

  it.each(["", "python3"])("is not PINBENCH_PYTHON=%j, which a file here could replace", (named) => {
    expect(usualPython({ PINBENCH_PYTHON: named })).toBe("python3");
    expect(trainingPath({ PATH: "/usr/bin", PINBENCH_PYTHON: named })).toBe("/usr/bin");
  });
});

describe("the PATH of a training job", () => {
  it("is left alone, if pinbench came without a Python", () => {
    expect(trainingPath({ PATH: "/opt/bin:/usr/bin" })).toBe("/opt/bin:/usr/bin");
    expect(trainingPath({})).toBeUndefined();
  });

  it("begins with the programs of the wheel's environment, as if that were activated", () => {
    expect(trainingPath({ PATH: "/opt/bin:/usr/bin", PINBENCH_PYTHON })).toBe(
      "/home/me/env with spaces/bin:/opt/bin:/usr/bin",
    );
    expect(trainingPath({ PATH: "/usr/bin", PINBENCH_PYTHON: "/usr/bi/python3" })).toBe("/usr/bi:/usr/bin");
    expect(trainingPath({ PINBENCH_PYTHON })).toBe(
      "/home/me/env with spaces/bin:/usr/local/bin:/usr/bin:/bin",
    );
  });

  it("keeps the user's order if it already contains the wheel's folder", () => {
    expect(trainingPath({ PATH: "/opt/conda/bin:/usr/bin", PINBENCH_PYTHON: "/usr/bin/python3" })).toBe(
      "/opt/conda/bin:/usr/bin",
    );
  });
});
