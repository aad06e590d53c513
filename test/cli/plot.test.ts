import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { callCli } from "../helpers/in-process.js";
import { small, temporaryFolder } from "../helpers/run-cli.js";

const twoSizes = ["--sizes", "64KiB,256KiB", "--memory", "pageable,pinned"];

describe("pinbench run --plot", () => {
  it("draws a plot for each direction below the tables, and before what starting cost", async () => {
    const { exitCode, stdout } = await callCli(small(...twoSizes, "--plot", "--verbose"), {
      env: { COLUMNS: "80" },
    });
    expect(exitCode).toBe(0);
    const legends = [...stdout.matchAll(/^ +GB\/s +● pageable +◆ pinned$/gm)].map(({ index }) => index);
    expect(legends).toHaveLength(2);
    expect(legends[0]).toBeGreaterThan(stdout.lastIndexOf("pinned/"));
    expect(legends[1]).toBeLessThan(stdout.indexOf("Cold start"));
    // A machine that is busy may be so slow that a mark lies on the axis.
    expect(stdout.match(/^ +0 ┼/gm)).toHaveLength(2);
    expect(stdout).not.toContain("link's limit");
  });

  it("draws in ASCII with --ascii, and where the locale has nothing else", async () => {
    for (const [flags, env] of [
      [["--ascii"], {}],
      [[], { LC_ALL: "C" }],
    ] as const) {
      const { stdout } = await callCli(small(...twoSizes, "--plot", ...flags), { env });
      expect(stdout).toMatch(/^ +GB\/s +o pageable +% pinned$/m);
      expect(stdout).toMatch(/^[\n -~]*$/);
    }
  });

  it("draws in a .txt file too, whatever stdout gets", async () => {
    const file = join(temporaryFolder(), "result.txt");
    const { exitCode, stdout } = await callCli(small(...twoSizes, "--plot", "--json", "--output", file));
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toHaveProperty("cells");
    expect(readFileSync(file, "utf8")).toMatch(/^ +GB\/s +● pageable +◆ pinned$/m);
  });
});

describe("pinbench tune --plot", () => {
  const tune = "tune --sample-bytes 4KiB --batch-size 4 --backend emulated --budget 1s --max-workers 0".split(
    " ",
  );

  it("draws rates against workers below the table", async () => {
    const { exitCode, stdout } = await callCli([...tune, "--plot"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^ +batches\/s +● not pinned +/m);
    expect(stdout.indexOf("=> num_workers=0")).toBeLessThan(stdout.indexOf("workers (num_workers)"));
  });
});
