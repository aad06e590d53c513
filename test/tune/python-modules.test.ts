import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { skipWithoutTorch, testPython } from "../helpers/test-python.js";

skipWithoutTorch();

/** All of test/tune/python in one interpreter, as importing torch takes a second and more. */
it("the Python modules of tune pass their own unit tests", async () => {
  const folder = fileURLToPath(new URL("python", import.meta.url));
  // Bytecode has no business in the folders of the source.
  const args = ["-B", "-W", "ignore", "-m", "unittest", "discover", "-s", folder, "-p", "*_test.py"];
  // Workers that are killed leave files behind.
  const TMPDIR = mkdtempSync(join(tmpdir(), "pinbench-python-"));
  onTestFinished(() => rmSync(TMPDIR, { recursive: true, force: true }));
  const { failed, stderr } = await new Promise<{ failed: boolean; stderr: string }>((resolve) => {
    const env = { ...process.env, TMPDIR };
    const options = { env, timeout: 290_000, killSignal: "SIGKILL" } as const;
    execFile(testPython, args, options, (error, _stdout, stderr) =>
      resolve({ failed: error !== null, stderr }),
    );
  });
  expect(failed, stderr).toBe(false);
  expect(stderr).toMatch(/\nRan [1-9]\d* tests in \S+\n\nOK\n$/);
});
