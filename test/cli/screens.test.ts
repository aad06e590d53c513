import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it, vi } from "vitest";
import { stderrScreen, stdoutScreen } from "../../src/cli/output/screens.js";
import { callCli } from "../helpers/in-process.js";
import {
  pinbench,
  restingLink,
  runCli,
  runSmall,
  small,
  start,
  temporaryFolder,
} from "../helpers/run-cli.js";

const recordings = fileURLToPath(new URL("../../results/nvidia-h200/", import.meta.url));
const sweep = join(recordings, "default.json");
const compare = ["compare", sweep, sweep, "--no-config"];
/** Run in the recordings' folder: a path is not wrapped, and the length of this checkout's is unknown. */
const compareHere = ["compare", "default.json", "default.json", "--no-config"];
const widest = (text: string) => Math.max(...text.split("\n").map(({ length }) => length));
const isAscii = (text: string) => !/[^\t\n\r -~]/.test(text);

/** Chalk draws with escape sequences. */
const escapeSequence = "\u001b[";
const devices = ["devices", "--backend", "emulated"];

describe("pinbench", () => {
  it.each([
    ["prints no colours in a pipe", {}, false],
    ["prints colours with FORCE_COLOR=1", { FORCE_COLOR: "1" }, true],
    ["prints no colours with FORCE_COLOR=0", { FORCE_COLOR: "0" }, false],
    ["prints colours if FORCE_COLOR and NO_COLOR are set", { NO_COLOR: "1", FORCE_COLOR: "1" }, true],
  ] as [string, Record<string, string>, boolean][])("%s", async (_, env, expected) => {
    const table = await runCli(devices, { env });
    expect(table.stdout.includes(escapeSequence)).toBe(expected);
  });

  it("prints the same text with and without colours", async () => {
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

describe("the width of pinbench's output", () => {
  it("is that of COLUMNS in a pipe, and 100 columns without COLUMNS", async () => {
    const facts = (columns: Record<string, string>) =>
      callCli(compareHere, { cwd: recordings, env: columns });
    for (const columns of [60, 80, 100]) {
      const { stdout } = await facts({ COLUMNS: String(columns) });
      expect(widest(stdout)).toBeLessThanOrEqual(columns);
      expect(widest(stdout)).toBeGreaterThan(columns - 12);
    }
    const hundred = await facts({ COLUMNS: "100" });
    expect((await facts({})).stdout).toBe(hundred.stdout);
  });

  it("is that of the stream's own terminal", () => {
    const terminal = (columns: number) => ({ isTTY: true, columns }) as NodeJS.WriteStream & { fd: 1 & 2 };
    vi.spyOn(process, "stdout", "get").mockReturnValue(terminal(70));
    vi.spyOn(process, "stderr", "get").mockReturnValue(terminal(90));
    const columns = [stdoutScreen(), stderrScreen({})].map((screen) => screen.columns);
    vi.restoreAllMocks();
    expect(columns).toEqual([70, 90]);
  });

  it("is 100 columns in a file, whatever COLUMNS says", async () => {
    const cwd = temporaryFolder();
    const [wide, narrow] = ["wide.txt", "narrow.txt"];
    await callCli([...compare, "--output", wide], { cwd, env: { COLUMNS: "200" } });
    await callCli([...compare, "--output", narrow], { cwd, env: { COLUMNS: "60" } });
    expect(readFileSync(join(cwd, wide), "utf8")).toBe(readFileSync(join(cwd, narrow), "utf8"));
  });
});

describe("ASCII", () => {
  it("is printed if the locale has no UTF-8, in errors and help too", async () => {
    const env = { LC_ALL: "C" };
    expect(isAscii((await callCli(compare, { env })).stdout)).toBe(true);
    const { stderr } = await callCli(["compare", "straße.json", "x.json"], { env });
    expect(stderr).toContain("stra\\xdfe.json");
    expect((await callCli(["compare", "straße.json", "x.json"])).stderr).toContain("straße.json");
    expect(isAscii((await callCli(["--help"], { env })).stdout)).toBe(true);
  });
});

/** util-linux' script(1) runs a command in a terminal of its own. */
describe.runIf(existsSync("/usr/bin/script"))("at a terminal", () => {
  async function atTerminal(columns: number, args: readonly string[], more: Record<string, string> = {}) {
    const env = { TERM: "xterm-256color", ...more };
    const words = [process.execPath, pinbench, ...args].map((word) => `'${word}'`).join(" ");
    const command = `stty cols ${columns}; ${words}`;
    const { stdout } = await start("script", ["-qec", command, "/dev/null"], { cwd: recordings, env })
      .finished;
    return stdout.replaceAll("\r\n", "\n");
  }

  it("tables are as wide as the terminal, whatever COLUMNS says", async () => {
    const text = await atTerminal(72, compareHere, { NO_COLOR: "1", TERM: "xterm", COLUMNS: "200" });
    expect(widest(text)).toBeLessThanOrEqual(72);
    expect(widest(text)).toBeGreaterThan(64);
  });

  it("messages are wrapped to the width of the terminal without losing a word", async () => {
    const args = ["run", "--sizes", "64KiB", "--memory", "nosuch", "--backend", "emulated"];
    const [narrow, wide] = [await atTerminal(60, args, {}), await atTerminal(400, args, {})];
    expect(wide.trim().split("\n")).toHaveLength(1);
    expect(widest(narrow)).toBeLessThanOrEqual(60);
    expect(narrow.split(/\s+/)).toEqual(wide.split(/\s+/));
  });

  it("a document is not printed with --json if --output saves it", async () => {
    const path = join(temporaryFolder(), "c.json");
    const text = await atTerminal(80, [...compareHere, "--json", "--output", path], {});
    expect(text).toMatch(/^pinbench: the JSON is only in .*, not on this\s+terminal\.\n/);
    expect(JSON.parse(readFileSync(path, "utf8"))).toHaveProperty("schemaVersion");
  });

  it("with TERM=dumb nothing is coloured or redrawn", async () => {
    const dumb = await atTerminal(80, compareHere, { TERM: "dumb" });
    await expect(dumb).toMatchFileSnapshot("snapshots/compare-dumb.txt");
    const lasting = small("--memory", "pinned", "--budget", "400ms");
    const run = await atTerminal(80, lasting, { ...restingLink, TERM: "dumb" });
    expect(run).toContain("GB/s");
    expect(["\u001b", "\r"].filter((one) => run.includes(one))).toEqual([]);
  });

  it("--quiet leaves out the progress line and the notes", async () => {
    const config = join(temporaryFolder(), "pinbench.config.json");
    writeFileSync(config, "{}");
    const args = ["--memory", "pinned", "--budget", "400ms", "--config", config];
    const told = await atTerminal(80, small(...args), { ...restingLink, TERM: "xterm" });
    expect(told).toContain("pinbench: ");
    expect(told).toContain("\u001b[2K");
    const quiet = await atTerminal(80, small(...args, "--quiet"), { ...restingLink, TERM: "xterm" });
    expect(quiet).not.toContain("pinbench: ");
    expect(quiet).not.toContain("\u001b[2K");
  });

  it("output has colours, unless NO_COLOR is set", async () => {
    expect(await atTerminal(80, devices)).toContain(`${escapeSequence}1m`);
    expect(await atTerminal(80, devices, { NO_COLOR: "1" })).not.toContain(escapeSequence);
  });

  it("a run shows a progress line, and removes it at the end", async () => {
    const output = await atTerminal(
      80,
      small("--memory", "pinned", "--budget", "400ms", "--precision", "0.001%"),
      restingLink,
    );
    expect(output).toMatch(/\[#*-*\] 0 s of 400 ms; \d of 2 cells converged; [HD]2[HD] pinned 64 KiB/);
    const clearLine = `\r${escapeSequence}2K`;
    expect(output.slice(output.lastIndexOf(clearLine) + clearLine.length)).toMatch(/^.{0,9}pinbench \d/);
  });

  it("a run shows preliminary rates above the progress line until the end, and a pipe has none", async () => {
    const plan = small("--memory", "pageable,pinned", "--budget", "400ms", "--precision", "0.001%");
    const output = await atTerminal(80, plan, restingLink);
    expect(output).toMatch(/preliminary: 64 KiB H2D(\/D2H)?: pinned [\d./]+, pageable [\d./]+ GB\/s/);
    const clearLine = `${escapeSequence}2K`;
    expect(output.slice(output.lastIndexOf(clearLine))).not.toContain("preliminary");
    const { stdout, stderr } = await runCli(plan, { env: restingLink });
    expect(stdout).not.toContain("preliminary");
    expect(stderr).toBe("");
  });
});
