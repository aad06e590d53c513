import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { callCli } from "../helpers/in-process.js";
import { temporaryFolder } from "../helpers/run-cli.js";

it("a failed build shows the last of what the compiler said, where the error is", async () => {
  const PATH = temporaryFolder();
  const lines = Array.from({ length: 50 }, (_, i) => `line ${i + 1}`);
  const cmake = `#!/bin/sh\nprintf '%s\\n' ${lines.map((line) => `'${line}'`).join(" ")}; exit 1\n`;
  for (const tool of ["c++", "make", "cmake"]) writeFileSync(join(PATH, tool), cmake, { mode: 0o755 });
  const { exitCode, stderr } = await callCli(["build"], { env: { PATH } });
  expect(exitCode).toBe(3);
  expect(stderr.match(/^line .*/gm)).toEqual(lines.slice(10));
});
