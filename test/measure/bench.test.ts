import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { Bench, type BenchOptions } from "../../src/measure/bench.js";
import { planArenas } from "../../src/plan/geometry.js";
import { parseResult } from "../../src/results/parse.js";
import { callCli } from "../helpers/in-process.js";
import { FakeSession, MiB, nativeError, plannedCell } from "./support.js";

/** Options that open this session. */
function optionsFor(session: FakeSession, part: Partial<BenchOptions> = {}): BenchOptions {
  const placement = { cpus: [0], threads: 1, numaNode: 1 };
  return { driver: { openSession: async () => session }, device: 0, placement, ...part };
}

it("only src/measure/bench.ts opens sessions on a device", () => {
  const opening = readdirSync("src", { recursive: true, encoding: "utf8" }).filter(
    (path) => path.endsWith(".ts") && /\.openSession\(/.test(readFileSync(`src/${path}`, "utf8")),
  );
  expect(opening).toEqual(["measure/bench.ts"]);
});

describe("a device that is opened to measure", () => {
  it("goes without a NUMA node only if the system refuses to choose the node", async () => {
    const nodesAsked = async (numaNode: number | null, code: string) => {
      const asked: (number | null)[] = [];
      const openSession: BenchOptions["driver"]["openSession"] = async (options) => {
        asked.push(options.numaNode);
        throw nativeError(code);
      };
      const placement = { cpus: [], threads: 1, numaNode };
      const opened = Bench.open(optionsFor(new FakeSession(), { driver: { openSession }, placement }));
      await expect(opened).rejects.toMatchObject({ code });
      return asked;
    };
    expect(await nodesAsked(1, "PLACEMENT_REFUSED")).toEqual([1, null]);
    expect(await nodesAsked(null, "PLACEMENT_REFUSED")).toEqual([null]);
    expect(await nodesAsked(1, "CUDA_ERROR_OUT_OF_MEMORY")).toEqual([1]);
  });

  it("aborts its measurements with the caller's signal, until it is closed", async () => {
    const session = new FakeSession();
    const aborts = vi.spyOn(session, "abort");
    const end = new AbortController();
    const bench = await Bench.open(optionsFor(session, { signal: end.signal }));
    end.abort();
    expect(aborts).toHaveBeenCalledTimes(1);
    await bench.close();
    // A signal that was aborted before ends the session at once.
    await Bench.open(optionsFor(session, { signal: end.signal }));
    expect(aborts).toHaveBeenCalledTimes(2);
    const later = new AbortController();
    const closed = await Bench.open(optionsFor(session, { signal: later.signal }));
    await closed.close();
    later.abort();
    expect(aborts).toHaveBeenCalledTimes(2);
  });

  it("reserves its own memory once, for all kinds of host memory", async () => {
    const session = new FakeSession();
    const [device, host] = [vi.spyOn(session, "reserveDevice"), vi.spyOn(session, "reserveHost")];
    const cells = (["pinned", "pageable"] as const).map((memory) => plannedCell({ memory }));
    const bench = await Bench.open(optionsFor(session));
    for (const { memory } of cells) await bench.reserve(planArenas(cells), memory as "pinned");
    expect(device).toHaveBeenCalledTimes(1);
    expect((host.mock.calls as unknown[][]).flatMap(([kind]) => kind ?? [])).toEqual(["pinned", "pageable"]);
  });
});

describe("a limit on pinned memory", () => {
  const run = async (limit: string, sizes: string, memory = "pinned,pageable") => {
    const args = [
      ...["run", "--backend", "emulated", "--sizes", sizes, "--memory", memory, "--direction", "h2d"],
      ...["--workers", "1", "--cache", "warm", "--samples", "6", "--json"],
    ];
    const { stdout, exitCode } = await callCli(args, { env: { PINBENCH_EMULATED_PINNED_LIMIT: limit } });
    const { cells } = parseResult(stdout, "stdout");
    const outcomes = cells.map((cell) => [cell.memory, cell.sizeBytes / MiB, cell.outcome === "failed"]);
    return { exitCode, outcomes, cells };
  };

  it("fails only sizes above it, with a hint; smaller sizes are measured and compared", async () => {
    const { exitCode, outcomes, cells } = await run("24MiB", "1MiB,16MiB,32MiB");
    expect(exitCode).toBe(4);
    expect(outcomes).toEqual(
      [1, 16, 32].flatMap((size) => [
        ["pageable", size, false],
        ["pinned", size, size === 32],
      ]),
    );
    expect(cells.at(-1)!.error!.message).toMatch(
      /CUDA_ERROR_OUT_OF_MEMORY.+; `pinbench pin` finds how much can be pinned$/,
    );
    const pinned = cells.filter((cell) => cell.memory === "pinned" && cell.error === null);
    for (const { verification, samples } of pinned) {
      expect(verification).toMatchObject({ mismatches: [] });
      expect(verification!.checkedBytes).toBeGreaterThan(0);
      // On the clock of the device's first session.
      expect(Math.min(...samples[0]!.startNs)).toBeGreaterThan(0);
    }
  });

  it("fails all sizes if even the smallest is above it", async () => {
    const { outcomes } = await run("64KiB", "1MiB,16MiB", "pinned");
    expect(outcomes.map(([, , failed]) => failed)).toEqual([true, true]);
  });
});
