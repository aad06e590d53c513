import { existsSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { pinbench, restingLink, runCli, runSmall, small, start } from "../helpers/run-cli.js";

/** Chalk draws with escape sequences, and so does cli-table3 if it is let. */
const escapeSequence = "\u001b[";
const devices = ["devices", "--backend", "emulated"];

describe("colours", () => {
  it.each([
    ["none in a pipe", [], {}, false],
    ["some with FORCE_COLOR", [], { FORCE_COLOR: "1" }, true],
    ["none with --no-color, whatever the environment says", ["--no-color"], { FORCE_COLOR: "1" }, false],
    ["none with FORCE_COLOR=0", [], { FORCE_COLOR: "0" }, false],
    ["some where FORCE_COLOR overrides NO_COLOR", [], { NO_COLOR: "1", FORCE_COLOR: "1" }, true],
  ] as [string, string[], Record<string, string>, boolean][])("%s", async (_, args, env, expected) => {
    const table = await runCli([...devices, ...args], { env });
    expect(table.stdout.includes(escapeSequence)).toBe(expected);
  });

  it("are drawn by chalk alone: without them the text is the same", async () => {
    const plan = ["--dry-run", "--format", "table"];
    const plain = await runSmall(plan);
    const coloured = await runSmall(plan, { env: { FORCE_COLOR: "1" } });
    // What a run takes is estimated from the speed of the memory at that moment.
    const withoutTime = (text: string) => text.replace(/(Time +about ).*/, "$1");
    expect(withoutTime(stripVTControlCharacters(coloured.stdout))).toBe(withoutTime(plain.stdout));
    expect(plain.stdout).not.toContain(escapeSequence);
    expect(coloured.stdout).not.toBe(plain.stdout);
  });
});

/** util-linux' script(1) runs a command in a terminal of its own. */
describe.runIf(existsSync("/usr/bin/script"))("at a terminal", () => {
  async function atTerminal(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
    const command = [process.execPath, pinbench, ...args].map((word) => `'${word}'`).join(" ");
    const options = { env: { TERM: "xterm-256color", ...env } };
    return (await start("script", ["-qec", command, "/dev/null"], options).finished).stdout;
  }

  it("there are colours, unless NO_COLOR is set", async () => {
    expect(await atTerminal(devices)).toContain(`${escapeSequence}1m`);
    expect(await atTerminal(devices, { NO_COLOR: "1" })).not.toContain(escapeSequence);
    expect(await atTerminal([...devices, "--no-color"])).not.toContain(escapeSequence);
  });

  it("there is a progress line, which is gone at the end", async () => {
    const output = await atTerminal(
      small("--memory", "pinned", "--budget", "400ms", "--precision", "0.001%"),
      restingLink,
    );
    expect(output).toMatch(/s left; \d of 2 cells converged; [HD]2[HD] pinned 64 KiB x1/);
    const clearLine = `\r${escapeSequence}2K`;
    expect(output.slice(output.lastIndexOf(clearLine) + clearLine.length)).toMatch(/^.{0,9}pinbench \d/);
  });

  it("preliminary rates stand above it, and are gone at the end; a pipe has none", async () => {
    const plan = small("--memory", "pageable,pinned", "--budget", "400ms", "--precision", "0.001%");
    const output = await atTerminal(plan, restingLink);
    expect(output).toMatch(/preliminary: 64 KiB H2D(\/D2H)?: pinned [\d./]+, pageable [\d./]+ GB\/s/);
    const clearLine = `${escapeSequence}2K`;
    expect(output.slice(output.lastIndexOf(clearLine))).not.toContain("preliminary");
    const { stdout, stderr } = await runCli(plan, { env: restingLink });
    expect(stdout).not.toContain("preliminary");
    expect(stderr).toBe("");
  });
});
