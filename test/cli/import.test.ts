import { copyFileSync, readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import { pinbench, runCli, start, temporaryFolder } from "../helpers/run-cli.js";

const fixture = fileURLToPath(new URL("../fixtures/nvbandwidth-0.8.json", import.meta.url));

const importing = (...args: string[]) => runCli(["import", "nvbandwidth", ...args]);

/** A copy of nvbandwidth's file, last changed when it was measured. */
function measuredFile(): string {
  const path = join(temporaryFolder(), "old.json");
  copyFileSync(fixture, path);
  utimesSync(path, new Date("2026-03-04T05:06:07Z"), new Date("2026-03-04T05:06:07Z"));
  return path;
}

describe("pinbench import nvbandwidth", () => {
  it("prints a result document, and on stderr what it assumed and left out", async () => {
    const { exitCode, stdout, stderr } = await importing(measuredFile());
    expect(exitCode).toBe(0);
    expect(parseResult(stdout)).toMatchObject({
      importedFrom: { tool: "nvbandwidth", version: "0.8", file: "old.json" },
      run: { startedAt: "2026-03-04T05:06:07.000Z" },
      cells: [{ direction: "h2d" }, { direction: "d2h" }, { direction: "d2d" }],
    });
    const [one, time, size, left, ...rest] = stderr.trimEnd().split("\n");
    expect(one).toMatch(/^pinbench: an import has one figure a cell and no interval/);
    expect(time).toMatch(/^pinbench: .*that of the file, 2026-03-04T05:06:07\.000Z/);
    expect(size).toMatch(/^pinbench: the buffer size is assumed to be 512 MiB, .*--buffer-size/);
    expect(left).toMatch(
      /^pinbench: left out: .*host_to_device_memcpy_sm, device_to_host_memcpy_sm.* \(pinbench has no such cell\)/,
    );
    expect(rest).toEqual([]);
  });

  it("writes a file with --output, and takes the buffer size from --buffer-size", async () => {
    const path = measuredFile();
    const output = join(path, "../new.json");
    const finished = await importing(path, "--output", output, "--buffer-size", "1GiB", "--quiet");
    expect(finished).toMatchObject({ exitCode: 0, stdout: "", stderr: "" });
    expect(parseResult(readFileSync(output, "utf8")).cells[0]?.id).toBe(
      "d0/h2d/pinned/1073741824/w1/throughput/warm",
    );
  });

  it("reads nvbandwidth's output from a pipe as /dev/stdin", async () => {
    const command = 'cat "$1" | "$2" "$3" import nvbandwidth /dev/stdin --quiet';
    const { stdout } = await start("sh", ["-c", command, "sh", fixture, process.execPath, pinbench]).finished;
    expect(parseResult(stdout).cells).toHaveLength(3);
  });
});
