import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { measureInFreshProcesses } from "../../src/measure/fresh-process.js";
import { fillRunSettings } from "../../src/settings/settings.js";
import { buildDocument } from "../helpers/result-document.js";
import { temporaryFolder } from "../helpers/run-cli.js";

/** A program in pinbench's place, which gives a result after it has done this. */
function program(before: string): string {
  const folder = temporaryFolder();
  const path = join(folder, "program.mjs");
  writeFileSync(join(folder, "result.json"), JSON.stringify(buildDocument()));
  writeFileSync(
    path,
    `import { readFileSync } from "node:fs";
    ${before};
    process.stdout.write(readFileSync(new URL("result.json", import.meta.url)));`,
  );
  return path;
}

/** Runs that were started, and those that brought a result, of which the reader takes `most`. */
async function repeat(entry: string, runs: number, most = runs) {
  const controller = new AbortController();
  const [started, brought]: [number[], number[]] = [[], []];
  const options = { entry, signal: controller.signal };
  for await (const { kind, run } of measureInFreshProcesses(fillRunSettings(), runs, options)) {
    if (kind === "start") {
      started.push(run);
      if (run === 1) setTimeout(() => controller.abort(), 300);
    } else if (brought.push(run) === most) break;
  }
  return { started, brought };
}

describe("measuring in several fresh processes", () => {
  it("yields each result as it comes, until its reader stops", async () => {
    const entry = program("");
    expect(await repeat(entry, 1)).toEqual({ started: [0], brought: [0] });
    expect(await repeat(entry, 5, 1)).toEqual({ started: [0], brought: [0] });
  });

  const untilAborted = "await new Promise((resolve) => process.on('disconnect', resolve))";
  const onlyLater = (text: string) =>
    `import { existsSync, writeFileSync as write } from "node:fs";
    const mark = new URL("mark", import.meta.url);
    if (existsSync(mark)) { ${text} } else write(mark, "")`;

  it.each([
    ["a result", onlyLater(untilAborted)],
    ["no result", onlyLater(`${untilAborted}; process.exit(2)`)],
  ])("ends when interrupted, and drops the interrupted process, which had %s", async (_, before) => {
    expect(await repeat(program(before), 5)).toEqual({ started: [0, 1], brought: [0] });
  });
});
