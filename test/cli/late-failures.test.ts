import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { showRun } from "../../src/cli/live-run.js";
import { ProgressLine } from "../../src/cli/output/progress-line.js";
import { fileScreen } from "../../src/draw/screen.js";
import type { Run } from "../../src/measure/run.js";
import type { Plan } from "../../src/plan/plan.js";
import { parseResult } from "../../src/results/parse.js";
import { buildDocument } from "../helpers/result-document.js";
import { pinbench, runSmall, small, start, temporaryFolder } from "../helpers/run-cli.js";

/** Runs with stdout where every write fails as on a full disk. */
function runWithFullStdout(args: readonly string[], cwd: string) {
  const command = [process.execPath, pinbench, ...args];
  return start("bash", ["-c", '"$@" > /dev/full', "bash", ...command], { cwd }).finished;
}

const diskIsFull = "pinbench: cannot write stdout: the disk is full. Redirect it to another place.\n";

describe("a stdout that cannot be written", () => {
  it.each([
    ["--version", ["--version"]],
    ["devices", ["devices", "--backend", "emulated"]],
    ["run --dry-run", small("--dry-run")],
  ])("is one sentence and exit code 2: %s", async (_, args) => {
    const { exitCode, stderr } = await runWithFullStdout(args, temporaryFolder());
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: diskIsFull });
  });

  it("costs the files nothing", async () => {
    const cwd = temporaryFolder();
    const { exitCode, stderr } = await runWithFullStdout(
      small("--memory", "pinned", "--output", "a.json"),
      cwd,
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: diskIsFull });
    expect(parseResult(readFileSync(join(cwd, "a.json"), "utf8")).run.status).toBe("complete");
  });
});

describe("a file that cannot be written at the end", () => {
  it("costs neither stdout nor the other files, and each one is named", async () => {
    const cwd = temporaryFolder();
    const outputs = ["/dev/full", "a.csv", "/proc/self/../../dev/full", "b.json"];
    const { exitCode, stdout, stderr } = await runSmall(
      ["--memory", "pinned", "--json", ...outputs.flatMap((path) => ["--output", path])],
      { cwd },
    );
    expect(exitCode).toBe(2);
    expect(parseResult(stdout).run.status).toBe("complete");
    expect(readdirSync(cwd).sort()).toEqual(["a.csv", "b.json"]);
    expect(readFileSync(join(cwd, "b.json"), "utf8")).toBe(stdout);
    const failure = (path: string) =>
      `pinbench: cannot write ${path}: the disk is full. Choose another path to write to.`;
    expect(stderr.trim().split("\n").sort()).toEqual([outputs[0]!, outputs[2]!].map(failure).sort());
  });
});

describe("a FILE.partial that cannot be written", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  async function roundsWithBlockedPartial(options: { quiet: boolean }) {
    const folder = temporaryFolder();
    const [blocked, good] = [join(folder, "a.json"), join(folder, "b.json")];
    mkdirSync(`${blocked}.partial`);
    const said = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    let nowMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    const outputs = [blocked, good].map((path) => ({ path, format: "json" as const }));
    let hostname = "none";
    const run = {
      cells: [],
      async *measure() {
        for (hostname of ["first", "second"]) {
          nowMs += 2000;
          yield { kind: "round", round: 0 };
        }
      },
      document: () => buildDocument({ host: { hostname } }),
    };
    const { signal } = new AbortController();
    await showRun(
      run as unknown as Run,
      { stopping: {}, settings: {}, cells: [], speedFacts: { emulated: false } } as unknown as Plan,
      {
        outputs,
        screen: fileScreen(),
        line: new ProgressLine({ progress: true, ...options }),
        signal,
        ...options,
      },
    );
    const partial = readFileSync(`${good}.partial`, "utf8");
    expect(readdirSync(folder).sort()).toEqual(["a.json.partial", "b.json.partial"]);
    return { blocked, partial, said: said.mock.calls.map(([text]) => text) };
  }

  it("is given up with one note; the others go on", async () => {
    const { blocked, partial, said } = await roundsWithBlockedPartial({ quiet: false });
    expect(said).toEqual([
      `pinbench: cannot write ${blocked}.partial: it is a folder. The run goes on without it.\n`,
    ]);
    expect(partial).toContain('"second"');
  });

  it("is not mentioned with --quiet", async () => {
    const { partial, said } = await roundsWithBlockedPartial({ quiet: true });
    expect(said).toEqual([]);
    expect(partial).toContain('"second"');
  });
});
