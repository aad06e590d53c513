import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createProgram } from "../../src/cli/commands.js";
import { type Finished, runCli, temporaryFolder } from "../helpers/run-cli.js";

const program = createProgram({ setExitCode: () => undefined });
const commands = program
  .createHelp()
  .visibleCommands(program)
  .map((command) => command.name())
  .filter((name) => name !== "help");

const has = (shell: string) => spawnSync(shell, ["-c", "exit 0"]).status === 0;

const printed = new Map<string, Promise<Finished>>();

async function scriptFor(shell: string): Promise<string> {
  if (!printed.has(shell)) printed.set(shell, runCli(["completion", shell]));
  const { exitCode, stdout, stderr } = await printed.get(shell)!;
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  const file = join(temporaryFolder(), `pinbench.${shell}`);
  writeFileSync(file, stdout);
  return file;
}

/** What a shell prints, a word a line. */
function shellSays(shell: string, args: string[]): string[] {
  const { status, stdout, stderr } = spawnSync(shell, args, { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout.split("\n").filter((line) => line !== "");
}

/** What bash offers for the last of these words, with the variables that bash sets for a completion. */
async function bashOffers(...words: string[]): Promise<string[]> {
  const program = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pinbench
    printf "%s\\n" "\${COMPREPLY[@]}"`;
  return shellSays("bash", ["--norc", "-c", program, "bash", await scriptFor("bash"), "pinbench", ...words]);
}

describe.skipIf(!has("bash"))("bash completes", () => {
  it("every command", async () => {
    expect(await bashOffers("")).toEqual(expect.arrayContaining(commands));
    expect(await bashOffers("ch")).toEqual(["check"]);
  });

  it("the flags of commands and of subcommands", async () => {
    expect(await bashOffers("run", "--wor")).toEqual(["--workers", "--worker-kind"]);
    expect(await bashOffers("import", "nvbandwidth", "--b")).toEqual(["--buffer-size"]);
    expect(await bashOffers("import", "")).toContain("nvbandwidth");
  });

  it("the values of a flag with a fixed set of them, also after =", async () => {
    expect(await bashOffers("run", "--backend", "e")).toEqual(["emulated"]);
    expect(await bashOffers("run", "--backend", "=", "e")).toEqual(["emulated"]);
    expect(await bashOffers("run", "--memory", "=")).toContain("pinned");
    expect(await bashOffers("completion", "f")).toEqual(["fish"]);
  });

  it("file names only where a command or a flag takes files", async () => {
    const asksForFiles = async (...words: string[]) => {
      const program = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { echo "$@"; }; _pinbench`;
      const script = await scriptFor("bash");
      return (
        shellSays("bash", ["--norc", "-c", program, "bash", script, "pinbench", ...words]).join() ===
        "-o default"
      );
    };
    expect(await asksForFiles("compare", "")).toBe(true);
    expect(await asksForFiles("run", "--output", "")).toBe(true);
    expect(await asksForFiles("compare", "--")).toBe(false);
    expect(await asksForFiles("run", "")).toBe(false);
  });
});

describe.skipIf(!has("fish"))("fish completes", () => {
  async function fishOffers(line: string): Promise<string[]> {
    const lines = shellSays("fish", ["-c", `source ${await scriptFor("fish")}; complete -C '${line}'`]);
    return lines.map((one) => one.split("\t")[0]!);
  }

  it("commands, flags and values", async () => {
    expect(await fishOffers("pinbench ")).toEqual(expect.arrayContaining(commands));
    expect(await fishOffers("pinbench run --wor")).toEqual(["--workers", "--worker-kind"]);
    expect(await fishOffers("pinbench run --backend e")).toEqual(["emulated"]);
    expect(await fishOffers("pinbench import nvbandwidth --b")).toEqual(["--buffer-size"]);
  });
});

describe.skipIf(!has("zsh"))("zsh", () => {
  /** What the script passes to zsh's completion functions, which are replaced here. */
  async function zshHands(name: string): Promise<string[]> {
    const program = `compdef() { :; }; _arguments() { print -rl -- "$@"; }; source ${await scriptFor("zsh")}; ${name}`;
    return shellSays("zsh", ["-f", "-c", program]);
  }

  it("loads the completion script, and gets flags with their values", async () => {
    const flags = await zshHands("_pinbench_run");
    expect(flags).toContainEqual(
      expect.stringMatching(/^--backend\[auto takes.*\]:name:\(auto cuda emulated\)$/),
    );
    expect(flags).toContainEqual(expect.stringMatching(/^\*--output\[.*\]:file:_files$/));
    expect(await zshHands("_pinbench_compare")).toContain("*:file:_files");
    expect(await zshHands("_pinbench")).toContain("1: :->command");
  });
});

describe("completion", () => {
  it("lets zsh offer a flag again if it may be given several times", async () => {
    const script = readFileSync(await scriptFor("zsh"), "utf8");
    expect(script).toContain("'*'{-o,--output}'[also write a file");
    expect(script).toContain("'*--label[");
    expect(script).toContain("'--backend[");
  });
});
