import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { PinbenchError, type PlanOptions, type RunOptions, type RunProgress, run } from "../../src/index.js";
import { announced } from "../../src/measure/prepare.js";
import { parseResult } from "../../src/results/parse.js";
import { knownKeys } from "../../src/settings/configuration-schema.js";
import { sharedDevice } from "../helpers/shared-device.js";

const small: RunOptions = {
  backend: "emulated",
  sizes: ["64KiB"],
  workers: [1],
  memory: ["pageable", "pinned"],
  samples: 6,
};

async function refusal(options: RunOptions): Promise<PinbenchError> {
  const error = await run(options).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(PinbenchError);
  return error as PinbenchError;
}

describe("run() of the library", () => {
  // Where there is a GPU, the library measures it.
  it.skipIf(existsSync("/proc/driver/nvidia/version"))(
    "measures the emulated device only on request",
    async () => {
      const { backend: _, ...unsaid } = small;
      expect(await refusal(unsaid)).toMatchObject({
        kind: "unavailable",
        exitCode: 3,
        message: expect.stringMatching(/^The CUDA backend is not available: .* add backend: "emulated"\.$/),
      });
      expect((await run({ ...small, backend: "auto" })).backend).toBe("emulated");
    },
  );

  it.each([
    [null, "The options must be an object."],
    ["quick", "The options must be an object."],
    [[small], "The options must be an object."],
    [{ ...small, signal: 5 }, "The option signal must be an AbortSignal."],
    [{ ...small, onProgress: "log" }, "The option onProgress must be a function."],
  ])("refuses the options %j", async (options, message) => {
    expect(await refusal(options as RunOptions)).toMatchObject({ kind: "usage", exitCode: 2, message });
  });

  it("returns a valid result with all of its cells", async () => {
    const document = await run(small);
    expect(document.run).toMatchObject({ status: "complete", argv: [] });
    const oneWay = ["pageable", "host", "pinned"];
    expect(document.cells.map(({ memory }) => memory)).toEqual([...oneWay, ...oneWay]);
    expect(parseResult(JSON.stringify(document)).cells).toEqual(document.cells);
  });

  it("measures the cells with the given ids, and reports its progress", async () => {
    const id = "d0/h2d/pinned/65536/w1/throughput/cold";
    const seen: RunProgress[] = [];
    const { cells } = await run({
      backend: "emulated",
      samples: 6,
      cells: [id],
      onProgress: (progress) => seen.push(progress),
    });
    expect(cells.map((cell) => cell.id)).toEqual([id]);
    expect(seen[0]).toMatchObject({ cell: id, round: 1, convergedCells: 0, totalCells: 1 });
  });

  it("accepts cell ids with blanks and empty lines, and all as the name of all devices", async () => {
    const [first, second] = ["h2d", "d2h"].map((way) => `d0/${way}/pinned/4096/w1/throughput/cold`);
    const options = { backend: "emulated", samples: 6 } as const;
    const { cells } = await run({ ...options, cells: [`${first}\n`, "", ` ${second} `] });
    expect(cells.map(({ id }) => id)).toEqual([first, second]);
    const all = await run({ ...small, device: ["all"] });
    expect(all.plan?.settings?.devices).toBe("all");
  });

  it("returns the results so far if it is aborted", async () => {
    const controller = new AbortController();
    const { run: record } = await run({
      ...small,
      samples: 100_000,
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    expect(record.status).toBe("aborted");
  });

  it("rejects a wrong option, says why, and suggests the right one", async () => {
    expect(await refusal({ ...small, sizes: "64K" })).toMatchObject({
      kind: "usage",
      message: expect.stringMatching(/^"64K" does not say whether /),
    });
    const misspelt = { ...small, worker: 1 } as RunOptions;
    expect(await refusal(misspelt)).toMatchObject({
      message: "There is no option worker. Did you mean workers?",
      hint: "Did you mean workers?",
    });
    // "-" stands for stdin only on the command line.
    expect(await refusal({ backend: "emulated", cells: ["-"] })).toMatchObject({
      kind: "usage",
      message: expect.stringMatching(/^"-" is not a cell id\./),
    });
    expect(await refusal({ cells: ["d0/h2d/pinned/65536/w1/throughput/cold"], sizes: "1MiB" })).toMatchObject(
      {
        message: expect.stringContaining("cells and sizes exclude each other"),
      },
    );
  });
});

describe("a measurement of the library is announced to other processes on its devices", () => {
  const emulated = { name: "emulated", facts: { emulated: true, nvmlError: "there is none" } };
  const prepared = {
    backend: emulated,
    devices: [0, 1].map((ordinal) => ({ ordinal, uuid: null, pciBusId: `0000:0${ordinal}:00.0` })),
  } as unknown as Parameters<typeof announced>[0];

  /** The number of devices on which this process announces a measurement. */
  const held = () =>
    readFileSync("/proc/net/unix", "utf8").match(
      new RegExp(`@pinbench/1/emulated-\\w+-\\d/measuring/${process.pid}-`, "g"),
    )?.length ?? 0;

  it("until the measurement ends or fails", async () => {
    for (const [name, value] of Object.entries(sharedDevice())) vi.stubEnv(name, value);
    expect(await announced(prepared, async () => held())).toBe(2);
    expect(held()).toBe(0);
    let during = 0;
    const failing = announced(prepared, async () => {
      during = held();
      throw new Error("it failed");
    });
    await expect(failing).rejects.toThrow("it failed");
    expect([during, held()]).toEqual([2, 0]);
    vi.unstubAllEnvs();
  });
});

it("run() of the library has the same options as the plan of a configuration", () => {
  const options: Record<keyof PlanOptions, true> = {
    backend: true,
    device: true,
    preset: true,
    sizes: true,
    workers: true,
    memory: true,
    direction: true,
    mode: true,
    cache: true,
    workerKind: true,
    together: true,
    beside: true,
    pipeline: true,
    blocks: true,
    precision: true,
    budget: true,
    samples: true,
    verify: true,
    maxPinned: true,
    fileFolder: true,
    numa: true,
  };
  expect(Object.keys(options).sort()).toEqual([...knownKeys.plan!].sort());
});
