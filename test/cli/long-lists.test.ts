import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCli, temporaryFolder } from "../helpers/run-cli.js";
import { buildRuns } from "../helpers/runs.js";

/** Files of a MB that would take hundreds of MB if each wrong element were noted. */

/** Room for the values themselves; a long text is held elsewhere. */
const env = { NODE_OPTIONS: "--max-old-space-size=80" };

const wrong = 400_000;
const listOf = (element: string) => `[${Array(wrong).fill(element).join()}]`;

async function read(file: string, text: string | Buffer, command: string) {
  const folder = temporaryFolder();
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return runCli(command.split(" "), { cwd: folder, env });
}

const [run] = buildRuns({ count: 1 });
const result = (part: object) => JSON.stringify({ ...run, ...part });
const withList = (text: string, element: string) => text.replace('"LIST"', () => listOf(element));

describe("a long list of wrong elements is refused in a sentence", () => {
  it.each([
    [
      "a result's CPUs, each below 0",
      "a.json",
      withList(result({ host: { ...run!.host, cpusAllowed: "LIST" } }), "-1"),
      "compare a.json a.json",
      / at host\.cpusAllowed\[0\]: Too small/,
      2,
    ],
    [
      "a node's cells",
      "a/a.json",
      withList(result({ cells: "LIST" }), "1"),
      "fleet a",
      / at cells\[0\]: /,
      4,
    ],
    [
      "a check of a history",
      "h/history.jsonl",
      `{"schemaVersion":1,"series":${listOf("1")},"notes":${listOf("1")}}\n`,
      "history h",
      /line 1 .* is left out: /,
      0,
    ],
  ] as const)("%s", async (_, file, text, command, reason, code) => {
    const { exitCode, stdout, stderr } = await read(file, text, command);
    expect(stderr + stdout).toMatch(reason);
    expect(exitCode).toBe(code);
  });
});
