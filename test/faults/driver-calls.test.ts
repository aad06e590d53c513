import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ExitCode, PinbenchError } from "../../src/errors.js";
import { parseResult } from "../../src/results/parse.js";
import { tuningSchema } from "../../src/results/tuning.js";
import { tuningExitCode } from "../../src/tune/tune-loader.js";
import { seeded } from "../helpers/seeded.js";
import { countTrials, trialSeed, trials } from "../helpers/trials.js";
import { type DriverOutcome, type DriverTrial, tryDrivers } from "./driver-trials.js";

/** Every function of the driver that pinbench can call, from the one list that it resolves them by. */
const driverCalls = [
  ...readFileSync(new URL("../../cuda/driver/cuda_abi.hpp", import.meta.url), "utf8").matchAll(
    /^ {2}X\(\w+, "(cu\w+)"/gm,
  ),
].map(([, symbol]) => symbol!);

/** What is done with the driver, as small as it can be. */
interface Scenario extends Omit<DriverTrial, "faults"> {
  name: string;
  /** What is wrong with the driver throughout, such as that it is old. */
  always: readonly string[];
  /** In a full form this many of its trials are drawn, for each takes long. */
  drawn?: number;
}

const tiny = { sizes: ["64KiB"], workers: [2], samples: 4, mode: ["latency"] };

function scenario(name: string, options: Record<string, unknown>, rest: Partial<Scenario> = {}): Scenario {
  return { name, command: "run", options: { ...tiny, ...options }, env: {}, always: [], ...rest };
}

const inBlocks = {
  sizes: undefined,
  blocks: ["4KiB"],
  workers: [1],
  mode: ["throughput"],
};

const twoDevices = { env: { PINBENCH_EMULATED_DEVICES: "2" } };

const byMemory = ["pageable", "staged", "pinned", "registered", "write-combined", "mapped"].flatMap(
  (memory) =>
    ["h2d", "d2h", "bidir"].map((direction) =>
      scenario(`${direction} of ${memory} memory`, { memory: [memory], direction: [direction] }),
    ),
);

const otherCopies = [
  scenario("within the device", { direction: ["d2d"] }),
  scenario("between two devices", { direction: ["p2p"], workers: [1] }, twoDevices),
  scenario(
    "between two devices that cannot reach each other",
    { direction: ["p2p"], workers: [1] },
    {
      env: { ...twoDevices.env, PINBENCH_EMULATED_PEERS: "none" },
    },
  ),
  scenario("two devices at once", { memory: ["pinned"], direction: ["h2d"], together: true }, twoDevices),
  scenario(
    "by an old driver",
    { memory: ["pinned"], direction: ["h2d"] },
    {
      always: ["cuDeviceGetUuid_v2:missing", "driver:version=11040"],
    },
  ),
  scenario("in chunks with kernels behind", {
    memory: ["pinned"],
    direction: ["h2d"],
    workers: [1],
    mode: ["throughput"],
    pipeline: [2],
  }),
  scenario("in scattered blocks", inBlocks),
  scenario(
    "an error that has a text",
    { memory: ["pinned"], direction: ["h2d"] },
    { always: ["cuMemcpyHtoDAsync_v2:999:nth=1"] },
  ),
];

/** These take seconds each. */
const slowScenarios = [
  scenario("by worker processes", { memory: ["pinned", "pageable"], workerKind: ["process"] }, { drawn: 40 }),
  scenario(
    "beside loads",
    { memory: ["pinned"], direction: ["h2d"], workers: [1], beside: ["compute", "memory", "host"] },
    { drawn: 30 },
  ),
  ...[{}, { step: "1ms" }].map(
    (step): Scenario => ({
      name: `the loader's model ${"step" in step ? "with" : "without"} steps`,
      command: "tune",
      options: { sample: "4KiB,100us", batchSize: 4, maxWorkers: 1, budget: "2s", ...step },
      env: {},
      always: [],
      drawn: 30,
    }),
  ),
];

const isFull = trials(0, 1) === 1;

/** What only slow scenarios call, which a short form leaves out. */
const calledElsewhere = isFull ? [] : ["cuStreamQuery", "cuEventElapsedTime"];

const scenarios = [...byMemory, ...otherCopies, ...(isFull ? slowScenarios : [])];

/** One call that fails: the nth of its name, with that CUresult. */
interface CallFault {
  scenario: Scenario;
  call: string;
  nth: number;
  result: number;
}

const contextLost = 700;
/** CUDA_ERROR_INVALID_VALUE, OUT_OF_MEMORY, ILLEGAL_ADDRESS, NOT_SUPPORTED and UNKNOWN. */
const results = [1, 2, contextLost, 801, 999];

/**
 * Calls that give something back: nothing measured depends on them, and there is nothing to do about them, so they may
 * fail without a word. What they were to give back is left behind, and no more.
 */
const isRelease = (call: string) => /Free|Destroy|Release|Unregister|Unload|DisablePeerAccess/.test(call);

/** Calls that may fail without an error, and what follows from that. */
const dispensable: Record<string, string> = {
  cuModuleLoadData: "what needs kernels is skipped, and the comparison reads back",
  cuModuleGetFunction: "the same",
  cuDeviceGetAttribute: "the same, where it is asked for the size of a kernel's grid",
  cuGetErrorName: "the error has its number for a name",
  cuGetErrorString: "the error has no description",
};

/** A loader that is opened only to time its step begins to copy batches, too, which nobody waits for. */
const mayBeUnused = ({ scenario, call }: CallFault) =>
  scenario.command === "tune" && /^cu(Memcpy|Event|Stream)/.test(call);

const isCallFault = (fault: string) => /^cu\w+:\d/.test(fault);

function trialOf({ scenario, call, nth, result }: CallFault): DriverTrial {
  return { ...scenario, faults: [...scenario.always, `${call}:${result}:nth=${nth}`] };
}

/** What is wrong with an outcome; null if nothing is. */
function complaintAbout(fault: CallFault, outcome: DriverOutcome): string | null {
  try {
    return leakOf(fault, outcome) ?? misreportOf(fault, outcome);
  } catch (error) {
    return `no valid document: ${error}`;
  }
}

function leakOf({ call, result }: CallFault, { leaks }: DriverOutcome): string | null {
  for (const { contexts, held, leftBehind } of leaks) {
    const sum = (counts: Record<string, number>) => Object.values(counts).reduce((a, b) => a + b, 0);
    const mayStay = isRelease(call) ? 1 : 0;
    if (contexts > (call.startsWith("cuDevicePrimaryCtxRelease") ? 1 : 0)) return `${contexts} contexts stay`;
    if (sum(held) > mayStay) return `stays: ${JSON.stringify(held)}`;
    // Of a context that is lost nothing can be given back.
    if (result !== contextLost && sum(leftBehind) > mayStay) return `left: ${JSON.stringify(leftBehind)}`;
  }
  return null;
}

function misreportOf(fault: CallFault, { document, rejection }: DriverOutcome): string | null {
  if (rejection !== undefined) {
    const { message, exitCode } = rejection;
    if (exitCode !== ExitCode.unavailable && exitCode !== ExitCode.measurement) return `rejected: ${message}`;
    return names(fault, message) ? null : `does not name the call: ${message}`;
  }
  return fault.scenario.command === "tune"
    ? misreportOfTuning(fault, document)
    : misreportOfRun(fault, document);
}

/** Whether the message names the call; whichever call comes next notices a lost context. */
function names({ call, result, scenario: { always } }: CallFault, message: string): boolean {
  const failing = [call, ...always.filter(isCallFault).map((each) => each.slice(0, each.indexOf(":")))];
  return (
    failing.some((each) => message.includes(each)) ||
    (result === contextLost && /CUDA_ERROR_ILLEGAL_ADDRESS|\b700\b/.test(message))
  );
}

function misreportOfRun(fault: CallFault, document: unknown): string | null {
  const { run, cells } = parseResult(JSON.stringify(document));
  const errors = [run.error, ...cells.map(({ error }) => error)].filter((error) => error !== null);
  const unnamed = errors.find(({ message }) => !names(fault, message));
  if (unnamed !== undefined) return `does not name the call: ${unnamed.message}`;
  // If a device cannot be used at all, the run says so, and not each cell.
  const bare =
    run.error === null &&
    cells.find(({ outcome, stats }) => stats.length === 0 && outcome !== "failed" && outcome !== "skipped");
  if (bare) return `${bare.id} is ${bare.outcome} without a figure`;
  if (errors.length > 0 || isRelease(fault.call) || fault.call in dispensable) return null;
  return names(fault, JSON.stringify(document)) ? null : "goes unsaid";
}

function misreportOfTuning(fault: CallFault, document: unknown): string | null {
  const tuning = tuningSchema.parse(document);
  try {
    tuningExitCode(tuning);
  } catch (error) {
    if (!(error instanceof PinbenchError) || error.exitCode !== ExitCode.measurement) return String(error);
  }
  if (isRelease(fault.call) || fault.call in dispensable || mayBeUnused(fault)) return null;
  return names(fault, JSON.stringify(tuning)) ? null : "goes unsaid";
}

/** The outcome of each scenario without an added fault. */
const undisturbed = tryDrivers(scenarios.map((each) => ({ ...each, faults: each.always })));

const callsOf = (outcome: DriverOutcome) => {
  const sums: Record<string, number> = {};
  for (const { calls } of outcome.leaks) {
    for (const [call, count] of Object.entries(calls)) sums[call] = Math.max(sums[call] ?? 0, count);
  }
  return sums;
};

describe("the driver calls of run() and tune()", () => {
  it("include every call of the driver that pinbench knows, in one scenario or another", async () => {
    expect(driverCalls.length).toBeGreaterThan(45);
    const made = new Set((await undisturbed).flatMap((outcome) => Object.keys(callsOf(outcome))));
    expect(driverCalls.filter((call) => !made.has(call))).toEqual(calledElsewhere);
  });

  it("leave nothing behind in any scenario if none of them is made to fail", async () => {
    for (const [i, outcome] of (await undisturbed).entries()) {
      const fault = { scenario: scenarios[i]!, call: "", nth: 0, result: 0 };
      expect(leakOf(fault, outcome), scenarios[i]!.name).toBeNull();
      expect(outcome.rejection, scenarios[i]!.name).toBeUndefined();
    }
  });

  it("are named in a valid document if one fails, and nothing leaks, hangs or crashes", async () => {
    const { uniform } = seeded(trialSeed);
    const drawFrom = <T>(list: readonly T[]) => list[Math.floor(uniform() * list.length)]!;
    const drawn = <T>(list: readonly T[], count: number) =>
      list
        .map((value) => ({ value, at: uniform() }))
        .sort((a, b) => a.at - b.at)
        .slice(0, count)
        .map(({ value }) => value);

    const everyFault = (await undisturbed).map((outcome, i) =>
      Object.entries(callsOf(outcome)).flatMap(([call, count]): CallFault[] => {
        const first = { scenario: scenarios[i]!, call, nth: 1, result: drawFrom(results) };
        const later = { ...first, nth: 1 + Math.ceil(uniform() * (count - 1)), result: drawFrom(results) };
        return count === 1 ? [first] : [first, later];
      }),
    );
    const faults = isFull
      ? everyFault.flatMap((each, i) => drawn(each, scenarios[i]!.drawn ?? each.length))
      : drawn(everyFault.flat(), 16);
    const complaints: string[] = [];
    const count = countTrials("driver calls that fail");
    const batch = 100;
    for (let begin = 0; begin < faults.length; begin += batch) {
      const some = faults.slice(begin, begin + batch);
      for (const [i, outcome] of (await tryDrivers(some.map(trialOf))).entries()) {
        const fault = some[i]!;
        const { scenario, call, nth, result } = fault;
        // Calls that wait for something are made more or less often. A process that fails to open a driver says nothing.
        const struck =
          outcome.leaks.length === 0 ||
          outcome.leaks.some(({ struckCalls }) => struckCalls > scenario.always.filter(isCallFault).length);
        if (!struck) continue;
        count.tries();
        const complaint = complaintAbout(fault, outcome);
        if (complaint === null) count.survives();
        else complaints.push(`${scenario.name}: ${call} at ${nth} with ${result}: ${complaint}`);
      }
    }
    expect(complaints).toEqual([]);
  });
});
