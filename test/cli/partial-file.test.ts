import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { showRun } from "../../src/cli/live-run.js";
import { ProgressLine } from "../../src/cli/output/progress-line.js";
import { fileScreen } from "../../src/draw/screen.js";
import type { Run } from "../../src/measure/run.js";
import type { Plan } from "../../src/plan/plan.js";
import { buildDocument } from "../helpers/result-document.js";
import { temporaryFolder } from "../helpers/run-cli.js";

it.each([
  [false, 1],
  [true, 0],
])(
  "a run goes on without a FILE.partial that cannot be written; with quiet %j it prints %i notes",
  async (quiet, notes) => {
    const said = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    onTestFinished(() => void vi.restoreAllMocks());
    let nowMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    const folder = temporaryFolder();
    const [blocked, good] = [join(folder, "a.json"), join(folder, "b.json")];
    mkdirSync(`${blocked}.partial`);
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
    const outputs = [blocked, good].map((path) => ({ path, format: "json" as const }));
    const { signal } = new AbortController();
    const plan = { stopping: {}, settings: {}, cells: [] } as unknown;
    const line = new ProgressLine({ quiet });
    const cleared = vi.spyOn(line, "clear");
    await showRun(run as unknown as Run, plan as Plan, {
      outputs,
      screen: fileScreen(),
      line,
      signal,
      quiet,
    });
    const note = `pinbench: cannot write ${blocked}.partial: it is a folder. The run goes on without it.\n`;
    expect(said.mock.calls.map(([text]) => text)).toEqual(Array(notes).fill(note));
    const [clearedFirst, saidFirst] = [cleared, said].map(({ mock }) => mock.invocationCallOrder[0]!);
    if (notes > 0) expect(clearedFirst).toBeLessThan(saidFirst!);
    expect(readFileSync(`${good}.partial`, "utf8")).toContain('"second"');
    expect(readdirSync(folder).sort()).toEqual(["a.json.partial", "b.json.partial"]);
  },
);
