import { describe, expect, it } from "vitest";
import { commandSettings } from "../../src/settings/command-settings.js";
import { callCli } from "../helpers/in-process.js";

const people = (Object.keys(commandSettings) as (keyof typeof commandSettings)[]).filter(
  (name) => !["measure", "worker", "fleet-node"].includes(name),
);
const commandLines = [[], ["import"], ...people.map((name) => name.split(" "))];
const helpAt = async (columns: number, command: readonly string[], flag = "--help") =>
  (await callCli([...command, flag], { env: { COLUMNS: String(columns) } })).stdout;

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
  ])("prints the same for %j as for %j", async (asked, same) => {
    expect(await callCli(asked)).toEqual(await callCli(same));
  });

  it("lists thirteen commands, the four most used first", async () => {
    const { stdout } = await callCli(["--help"]);
    const listed = [...stdout.matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name]) => name);
    expect(listed.slice(0, 4)).toEqual(["run", "tune", "doctor", "check"]);
    expect(listed).toHaveLength(13);
    expect(stdout.trimEnd().split("\n").length).toBeLessThanOrEqual(25);
    expect((await callCli(["-h"])).stdout).toBe(stdout);
  });

  it.each(people)("of %s takes 25 lines at most with -h, and has every flag with --help", async (name) => {
    const brief = await helpAt(80, name.split(" "), "-h");
    expect(brief.trimEnd().split("\n").length, brief).toBeLessThanOrEqual(25);
    expect(brief).toMatch(new RegExp(`\nAll flags: pinbench ${name} --help\n$`));
    const whole = await helpAt(80, name.split(" "));
    for (const { flag } of Object.values<{ flag: string }>(commandSettings[name])) {
      expect(whole).toMatch(new RegExp(`${flag.split(" ")[0]}\\b`));
    }
  });

  it("describes the output flags in one topic, with the formats of each command", async () => {
    const { stdout } = await callCli(["help", "output"]);
    for (const flag of ["--format", "--json", "--output", "--quiet"]) expect(stdout).toContain(flag);
    expect(stdout).toMatch(/^ {2}run +table json markdown html csv$/m);
    expect(stdout).toMatch(/^ {2}\.xml +junit$/m);
  });

  it("explains all words of the tables, or the requested ones", async () => {
    const { exitCode, stdout } = await callCli(["help", "terms"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^What is copied\n {2}H2D .*\n\nKinds of memory\n/s);
    const { stdout: one } = await callCli(["help", "terms", "cold"]);
    expect(one).toMatch(/^Figures\n {2}cold {2}buffers [^\n]*\n$/);
  });

  it.each(commandLines.map((words) => [["pinbench", ...words, "--help"].join(" "), words] as const))(
    "fits 80 columns, except for examples that are to be copied: %s",
    async (_, command) => {
      const wide = (await helpAt(80, command)).split("\n").filter((line) => line.length > 80);
      const isCommandAlone = (line: string) => /^ {2}\S.*pinbench \S/.test(line) && !/\S {2,}/.test(line);
      expect(wide.filter((line) => !isCommandAlone(line))).toEqual([]);
    },
  );

  it("shows no default that is empty, true, false or null", async () => {
    for (const command of commandLines) {
      expect(await helpAt(200, command)).not.toMatch(/default: (\[\]|true|false|null)/);
    }
  });
});
