import { describe, expect, it } from "vitest";
import { commandSettings } from "../../src/settings/command-settings.js";
import { callCli } from "../helpers/in-process.js";

describe("pinbench help", () => {
  it.each([
    [["help"], ["--help"]],
    [
      ["help", "run"],
      ["run", "--help"],
    ],
    [
      ["help", "import", "nvbandwidth"],
      ["import", "nvbandwidth", "--help"],
    ],
    [
      ["--help", "tune"],
      ["tune", "--help"],
    ],
  ])("%j is %j", async (asked, same) => {
    expect(await callCli(asked)).toEqual(await callCli(same));
  });

  it("is an overview of 24 lines at most, with every command that people call", async () => {
    const { stdout } = await callCli(["--help"]);
    expect(stdout.trimEnd().split("\n").length).toBeLessThanOrEqual(24);
    for (const [name] of commandLines.filter((words) => words.length === 1)) {
      expect(stdout).toMatch(new RegExp(`\\b${name}\\b`));
    }
  });

  it("of run takes 60 lines at most in 80 columns, and with --all has every flag", async () => {
    const { stdout } = await callCli(["help", "run", "--all"]);
    for (const { flag } of Object.values(commandSettings.run)) expect(stdout).toContain(flag.split(" ")[0]);
    const brief = await helpAt(80, ["run"]);
    expect(brief.length).toBeLessThanOrEqual(61);
    expect(brief.join("\n")).not.toContain("--max-pinned");
    expect(brief.join("\n")).toContain("pinbench help run --all");
  });

  it("explains the words of the tables, or those that are asked for", async () => {
    const { exitCode, stdout } = await callCli(["help", "terms"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^What is copied\n {2}H2D .*\n\nKinds of memory\n/s);
    const { stdout: one } = await callCli(["help", "terms", "cold"]);
    expect(one).toMatch(/^Figures\n {2}cold {2}buffers [^\n]*\n$/);
  });

  const commandLines = [
    [],
    ...[
      "run",
      "check",
      "baseline",
      "compare",
      "history",
      "fleet",
      "show",
      "tune",
      "doctor",
      "pin",
      "explain",
      "devices",
      "import",
    ].map((name) => [name]),
    ["import", "nvbandwidth"],
    ["completion"],
    ["help"],
  ];
  const helpAt = async (columns: number, command: readonly string[]) =>
    (await callCli([...command, "--help"], { env: { COLUMNS: String(columns) } })).stdout.split("\n");

  it.each(commandLines)(
    "fits 80 columns, except for examples that are to be copied: %s %s",
    async (...command) => {
      const wide = (await helpAt(80, command)).filter((line) => line.length > 80);
      const isCommandAlone = (line: string) => /^ {2}\S.*pinbench \S/.test(line) && !/\S {2,}/.test(line);
      expect(wide.filter((line) => !isCommandAlone(line))).toEqual([]);
    },
  );

  it("shows no default that says nothing", async () => {
    for (const command of commandLines) {
      expect((await helpAt(200, command)).join("\n")).not.toMatch(/default: (\[\]|true|false|null)/);
    }
  });
});
