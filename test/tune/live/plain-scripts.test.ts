import { describe, expect, it, vi } from "vitest";
import { skipWithoutTorch, testPython, warmPython } from "../../helpers/test-python.js";
import { type Change, runHooked, runPlain, withWorkers } from "./hooked-script.js";

/* Plain training scripts, each in a search and with --go, compared with an edit by hand. */

vi.setConfig({ testTimeout: 300_000, maxConcurrency: 2 });

interface Script {
  /** A class of plain_data.py. */
  kind: string;
  method?: "fork" | "spawn" | "forkserver";
  workers?: 0 | 1 | 2;
  isGlobal?: boolean;
  isModule?: boolean;
  persistent?: boolean;
}

/** The script's own arguments, or with another setting as an edit by hand would have them. */
function argumentsOf(script: Script, edited?: object): string[] {
  const { kind, method = "fork", workers = 0, isGlobal = true, persistent = false } = script;
  // A worker that is not forked imports torch anew.
  const epochs = method === "fork" ? 3 : persistent ? 2 : 1;
  const own = { num_workers: workers, persistent_workers: persistent };
  return ["plain.py", JSON.stringify({ kind, method, isGlobal, epochs, ...own, ...edited })];
}

/** The interpreter that the method forks must be the script's own. */
const startOf = ({ isModule = true, method = "fork" }: Script, env: NodeJS.ProcessEnv = {}) => ({
  env: { OMP_NUM_THREADS: "1", PLAIN_DATA: isModule ? "1" : "", ...env },
  python: method === "fork" ? warmPython : testPython,
});

/** Each two values of two properties occur together; the last one never ended on Python 3.11. */
const matrix = (
  [
    ["fork", 0, true, false, "Numbers", false],
    ["fork", 1, false, true, "Stream", true],
    ["fork", 2, true, true, "Numbers", false],
    ["spawn", 0, false, true, "Numbers", false],
    ["spawn", 1, true, false, "Numbers", true],
    ["spawn", 2, false, false, "Stream", false],
    ["forkserver", 0, true, false, "Stream", false],
    ["forkserver", 1, false, false, "Numbers", false],
    ["forkserver", 2, true, true, "Stream", true],
    ["fork", 1, true, true, "Numbers", true],
  ] as const
).map(([method, workers, isGlobal, isModule, kind, persistent]) => {
  const place = `a ${isGlobal ? "global" : "local"} loader of ${kind} in ${isModule ? "a module" : "__main__"}`;
  const name = `${place}, ${workers} ${persistent ? "persistent " : ""}workers by ${method}`;
  return [name, { kind, method, workers, isGlobal, isModule, persistent } as Script] as const;
});

/** Several changes, the last one back to the script's own setting. */
const changesOf = ({ method, workers = 0, persistent = false }: Script): Change[] =>
  method === "fork"
    ? [
        [6, withWorkers(2)],
        [14, withWorkers(0)],
        [20, withWorkers(1, 4, true)],
        [40, withWorkers(workers, 2, persistent)],
      ]
    : [[6, withWorkers(workers === 1 ? 0 : 1)]];

describe.concurrent("a plain training script", () => {
  skipWithoutTorch();

  const searches = new Map<string, ReturnType<typeof runHooked>>();
  /** Each script's search, for both of its tests. */
  function searched(name: string, script: Script) {
    const run = searches.get(name) ?? runHooked(argumentsOf(script), changesOf(script), startOf(script));
    searches.set(name, run);
    return run;
  }

  it.each(matrix)("ends by itself in a search, with its own exit code: %s", async (name, script) => {
    const changes = changesOf(script);
    const { code, left, stderr, said } = await searched(name, script);
    expect({ code, left, stderr }).toEqual({ code: 3, left: [], stderr: "" });
    const ofType = (type: string) => said.flat().filter((message) => message.type === type);
    expect(ofType("failed")).toEqual([]);
    expect(ofType("changed")).toHaveLength(changes.length);
  });

  it.each(matrix)("runs with --go as it does after an edit by hand: %s", async (name, script) => {
    const { method, workers, persistent = false } = script;
    const numWorkers = method === "fork" ? (workers === 2 ? 0 : 2) : workers === 0 ? 1 : 0;
    const setting = withWorkers(numWorkers, 3, persistent);
    const messages = (await searched(name, script)).said.flat();
    const { name: loaderName } = messages.find(({ type }) => type === "loader")!;
    const PINBENCH_TUNE_GO = JSON.stringify({ name: loaderName, setting, found: "/nowhere/found" });
    const edited = {
      num_workers: numWorkers,
      persistent_workers: persistent && numWorkers > 0,
      ...(numWorkers > 0 ? { prefetch_factor: 3 } : {}),
    };
    const [gone, byHand] = await Promise.all([
      runHooked(argumentsOf(script), [], startOf(script, { PINBENCH_TUNE_GO })),
      runPlain(argumentsOf(script, edited), startOf(script)),
    ]);
    // torch itself may leave folders of persistent workers behind.
    expect({ ...gone, left: [] }).toEqual({ ...byHand, said: [], left: [] });
    expect(byHand.code).toBe(3);
  });

  it.each<[kind: string, checks: string[], failed: string[]]>([
    ["Numbers", [], []],
    ["Named", [], []],
    ["Stream", [], []],
    ["Unshared", ["stream"], []],
    ["Updated", ["different"], []],
    ["Cached", ["keeps"], []],
    ["Asking", ["connection"], []],
    ["Queued", ["connection"], []],
    ["Files", ["file"], []],
    ["Kept", ["files"], []],
  ])("with the data set %s gets the warnings %j before it ends", async (kind, checks, failed) => {
    const changes: Change[] = ["Asking", "Queued", "Files"].includes(kind)
      ? []
      : [
          [24, withWorkers(2)],
          [60, withWorkers(0)],
        ];
    const { code, left, stderr, said } = await runHooked(argumentsOf({ kind }), changes, startOf({ kind }));
    expect({ code, left, stderr }).toEqual({ code: 3, left: [], stderr: "" });
    const ofType = (type: string, field: string) =>
      said.flat().flatMap((message) => (message.type === type ? message[field] : []));
    expect({ checks: ofType("check", "check"), failed: ofType("failed", "fault") }).toEqual({
      checks,
      failed,
    });
  });

  it("that can read its files only once ends with its own error, and leaves nothing behind", async () => {
    const run = await runHooked(
      argumentsOf({ kind: "ReadOnce" }),
      [[6, withWorkers(2)]],
      startOf({ kind: "ReadOnce" }),
    );
    expect(run).toMatchObject({ code: 1, left: [], stderr: expect.stringContaining("FileNotFoundError") });
  });

  it("whose data set does not pickle goes on without workers that are spawned", async () => {
    const script: Script = { kind: "Unpicklable", method: "spawn" };
    const { code, said } = await runHooked(argumentsOf(script), [[6, withWorkers(1)]], startOf(script));
    expect(code).toBe(3);
    const failed = said.flat().filter(({ type }) => type === "failed");
    expect(failed).toMatchObject([{ failure: { fault: "not-picklable" } }]);
  });
});
