import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { localBuildFolder } from "../../src/native/probe.js";
import { packageRoot } from "../../src/package-facts.js";
import { type Trace, traceSchema } from "../../src/trace/trace-document.js";
import { type Finished, pinbench, start, temporaryFolder } from "../helpers/run-cli.js";

/** A result of a GPU, whose pinned copies of 1 MiB reach 47.7 GB/s to the device. */
const reference = join(packageRoot, "results/nvidia-h200/default.json");

const folder = temporaryFolder();
const [cupti, program] = [join(folder, "libcupti.so"), join(folder, "program")];

beforeAll(() => {
  const compile = (source: string, ...args: string[]) => {
    const path = fileURLToPath(new URL(source, import.meta.url));
    const { stderr } = spawnSync("g++", ["-std=c++20", "-Wall", "-Wextra", path, ...args], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
  };
  compile("fake_cupti.cpp", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", cupti);
  compile("traced_program.cpp", "-o", program, "-ldl");
}, 180_000);

let files = 0;
const newFile = (name: string) => join(folder, `${++files}-${name}`);

const scriptOf = (lines: readonly string[]) => {
  const path = newFile("script");
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
  return path;
};

interface TraceOptions {
  flags?: readonly string[];
  env?: Record<string, string>;
  /** Null uses no stand-in but what is installed. */
  library?: string | null;
}

/** The command line that traces the program with a script's lines, and the file of its document. */
function tracing(lines: readonly string[], { flags = [], library = cupti }: TraceOptions = {}) {
  const file = newFile("trace.json");
  const given = library === null ? [] : ["--cupti", library];
  const asked = ["--reference", reference, ...given, "--output", file, ...flags];
  return { file, args: [pinbench, "trace", ...asked, "--", program, scriptOf(lines)] };
}

interface Traced extends Finished {
  trace: Trace;
}

const environment = { FAKE_CUPTI: cupti };

async function traceOf(lines: readonly string[], options: TraceOptions = {}): Promise<Traced> {
  const { file, args } = tracing(lines, options);
  const env = { ...environment, TMPDIR: folder, ...options.env };
  const finished = await start(process.execPath, args, { env }).finished;
  const trace = traceSchema.parse(JSON.parse(readFileSync(file, "utf8")));
  return { ...finished, trace };
}

/** The first sentences of a report. */
const answers = ({ stderr }: Finished) =>
  [...stderr.replaceAll("\n   ", " ").matchAll(/^=> (.*)/gm)].map(([, text]) => text!);
const alerts = ({ stderr }: Finished) =>
  [...stderr.replaceAll("\n  ", " ").matchAll(/^! (.*)/gm)].map(([, text]) => text!);

const training = ["kernel 7", "times 133 copy h2d pageable 9633792 1600 1860", "sleep 20"];

describe.concurrent("pinbench trace -- COMMAND", () => {
  it("counts pageable copies, what they block, and what pinning would save", async () => {
    const traced = await traceOf([...training, "say trained", "exit 3"]);
    expect(traced).toMatchObject({ exitCode: 3, stdout: "trained\n" });
    const [process] = traced.trace.processes;
    expect(process).toMatchObject({ error: null, isComplete: true, isSilent: false, droppedRecords: 0 });
    const [copies] = process!.copies;
    expect(copies).toMatchObject({
      ...{ direction: "h2d", memory: "pageable", call: "cudaMemcpyAsync", sizeBytes: 9633792, count: 133 },
      ...{ totalBytes: 133 * 9633792, engineNs: 133 * 1.6e6, blockedNs: 133 * 1.86e6 },
    });
    // The shorter of the two times counts, less what pinned copies of the next smaller size take.
    expect(copies!.savedNs! + copies!.totalBytes / copies!.pinnedGBps!).toBeCloseTo(133 * 1.6e6, 0);
    expect(answers(traced)[0]).toMatch(
      /^1\.28 GB of 1\.28 GB to the GPU came from pageable memory and blocked its thread for 248 ms of .* Pinned memory would save about 186 ms\.$/,
    );
  });

  it("reports that all copies are pinned, and which ones share a stream with kernels", async () => {
    const traced = await traceOf([
      "kernel 7",
      "times 40 copy h2d pinned 9633792 180 4 7",
      "times 2 copy h2d pinned 1048576 20 4 9",
    ]);
    expect(answers(traced)).toEqual([
      "All large copies are pinned; nothing to gain here.",
      expect.stringMatching(/^Pinned copies took 7\.20 ms on streams that also run kernels/),
    ]);
    expect(traced.trace.processes[0]!.copies.map((copy) => copy.behindKernelsNs)).toEqual([0, 7.2e6]);
  });

  it("counts the wait of a synchronization right after a small copy from the GPU", async () => {
    const traced = await traceOf([
      ...["copy d2h pageable 4 2 12", "call cudaStreamSynchronize 900000"],
      // This one is not right after a copy.
      ...["sleep 1200", "call cudaStreamSynchronize 700000"],
    ]);
    const [copies] = traced.trace.processes[0]!.copies;
    expect(copies).toMatchObject({ blockedNs: 12e3, waitNs: 9e8, savedNs: 0 });
    expect(answers(traced)[1]).toMatch(/^1 small copy from the GPU waited 901 ms for it/);
  });

  it("counts calls that pin memory and free it, and no others", async () => {
    const lines = ["call cudaHostAlloc 400000", "call cudaFreeHost 200000", "call cudaLaunchKernel 9000"];
    const traced = await traceOf([...lines, ...lines, "copy h2d pinned 4096 1 1"]);
    expect(traced.trace.processes[0]!.pinningCalls).toEqual([
      { name: "cudaHostAlloc", count: 2, timeNs: 8e8 },
      { name: "cudaFreeHost", count: 2, timeNs: 4e8 },
    ]);
    expect(answers(traced)[1]).toBe(
      "Pinning and freeing took 1.20 s in 4 calls (cudaHostAlloc and cudaFreeHost): in a loop, pin once before it.",
    );
  });

  it("separates NVTX ranges with --nvtx", async () => {
    const lines = [
      "push load",
      "push inner",
      "pop",
      "copy h2d pageable 4096 1 1",
      "pop",
      "copy h2d pageable 4096 1 1",
    ];
    const rangesOf = async (flags: string[]) =>
      (await traceOf(lines, { flags })).trace.processes[0]!.copies.map(({ range }) => range);
    expect(await rangesOf(["--nvtx"])).toEqual(["", "load"]);
  });

  it("counts copies of CUDA graphs, and copies whose call was not recorded", async () => {
    const { trace, stderr } = await traceOf([
      "times 3 copy h2d pageable 1048576 200 0 7 5",
      "late d2h pinned 1048576 20 0",
      "copy d2d pinned 1048576 20 1",
    ]);
    const [process] = trace.processes;
    expect(process!.copiesWithoutCall).toBe(1);
    expect(process!.copies.map(({ direction, call, count }) => [direction, call, count])).toEqual([
      ["d2h", "", 1],
      ["h2d", "", 3],
    ]);
    expect(stderr).toContain("the time blocked by 1 copy is unknown");
  });

  it("reads the records of CUDA 12's CUPTI, and refuses older ones", async () => {
    const { trace } = await traceOf(training, { env: { FAKE_CUPTI_VERSION: "22" } });
    expect(trace.processes[0]!.copies[0]).toMatchObject({ count: 133 });
    const old = await traceOf(training, { env: { FAKE_CUPTI_VERSION: "17" } });
    expect(alerts(old)[0]).toContain("libcupti.so is not CUPTI of CUDA 12 or newer. Install CUPTI");
    expect(old.exitCode).toBe(0);
  });

  it("uses bounded memory: beyond 4096 sizes, copies share a row", async () => {
    const lines = Array.from({ length: 5000 }, (_, i) => `copy h2d pageable ${4 * (i + 1)} 1 1`);
    const { trace } = await traceOf(lines);
    const { copies } = trace.processes[0]!;
    expect(copies).toHaveLength(4097);
    expect(copies.reduce((sum, { count }) => sum + count, 0)).toBe(5000);
    expect(copies.find(({ sizeBytes }) => sizeBytes === 0)).toMatchObject({ count: 904 });
  });

  it("reports each process, and the sum of all", async () => {
    const script = scriptOf([...training, "fork"]);
    const ranks = `RANK=0 ${program} ${script} & RANK=1 ${program} ${script}; wait`;
    const file = join(folder, "ranks.json");
    const args = ["trace", "--reference", reference, "--cupti", cupti, "--output", file];
    const { stderr } = await start(process.execPath, [pinbench, ...args, "--", "bash", "-c", ranks], {
      env: environment,
    }).finished;
    const { processes } = traceSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    expect(processes.map(({ rank, copies }) => [rank, copies[0]!.count]).sort()).toEqual([
      ["0", 133],
      ["1", 133],
    ]);
    expect(stderr).toMatch(/\n {2}rank 0 .*\n(.*\n)* {2}sum +2\.56 GB +2\.56 GB /);
  });

  it("keeps what a program had written before it was killed", async () => {
    const traced = await traceOf([...training, 'written "count":133', "copy h2d pageable 77 1 1", "kill"]);
    expect(traced.exitCode).toBe(137);
    const [process] = traced.trace.processes;
    expect(process).toMatchObject({ isComplete: false, copies: [{ count: 133 }] });
    expect(traced.stderr).toMatch(/the end of process \d+ is missing: it was killed/);
  });

  it.each([
    ["SIGINT", 130],
    ["SIGQUIT", 131],
    ["SIGUSR1", 138],
    ["SIGUSR2", 140],
    ["SIGTERM", 143],
  ] as const)("passes %s on, and reports at the command's end", async (signal, exitCode) => {
    const { file, args } = tracing(["say ready", "copy h2d pinned 4096 1 1", "sleep 60000"]);
    const { child, finished } = start(process.execPath, args, { env: environment });
    await new Promise((resolve) => child.stdout!.once("data", resolve));
    child.kill(signal);
    expect((await finished).exitCode).toBe(exitCode);
    expect(existsSync(file)).toBe(true);
  });

  it("reports after --for, without the time of --skip, while the command runs on", async () => {
    const [from, until] = ["FROM", "UNTIL"].map((end) => `after PINBENCH_TRACE_${end}_NS`);
    const copies = [11, 22, 33].map((bytes) => `copy h2d pinned ${bytes} 1 1`);
    const lines = [copies[0]!, from!, copies[1]!, until!, copies[2]!, "sleep 600000"];
    const { file, args } = tracing(lines, { flags: ["--skip", "8s", "--for", "5s"] });
    const { child } = start(process.execPath, args, { env: environment });
    for (let i = 0; i < 500 && !existsSync(file); ++i) await sleep(200);
    expect(child.exitCode).toBeNull();
    const { processes } = traceSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    expect(processes[0]!.copies.map(({ sizeBytes }) => sizeBytes)).toEqual([22]);
    child.kill("SIGTERM");
  });

  it.each([
    [
      "a program without CUDA",
      ["without-cuda", "say done"],
      {},
      "No process used CUDA: there is nothing to report.",
    ],
    ["a program without copies", ["say done"], {}, "There were no copies between host and GPU."],
  ] as const)("reports that there is nothing to report for %s", async (_, lines, options, sentence) => {
    const traced = await traceOf(lines, options);
    expect(traced).toMatchObject({ exitCode: 0, stdout: "done\n" });
    expect(answers(traced)).toEqual([sentence]);
  });

  it.each([
    [
      "is busy",
      { env: { FAKE_CUPTI_REFUSES: "1" } },
      /refuses to trace: CUPTI_ERROR_MULTIPLE.* Stop other profilers/,
    ],
    [
      "is absent",
      { library: "/nowhere/libcupti.so" },
      /CUPTI was not found \/nowhere\/libcupti\.so\. Install CUPTI/,
    ],
  ] as const)("lets the program run if CUPTI %s", async (_, options, sentence) => {
    const traced = await traceOf([...training, "say done", "exit 5"], options);
    expect(traced).toMatchObject({ exitCode: 5, stdout: "done\n" });
    expect(alerts(traced)).toEqual([expect.stringMatching(sentence)]);
    expect(answers(traced)).toEqual([]);
  });

  it("reports that another profiler has taken CUPTI over", async () => {
    const traced = await traceOf([
      "copy h2d pinned 4096 1 1",
      'written "sizeBytes":4096',
      "steal",
      ...training,
    ]);
    expect(traced.trace.processes[0]).toMatchObject({
      isSilent: true,
      copies: [{ sizeBytes: 4096, count: 1 }],
    });
    expect(alerts(traced)[0]).toMatch(
      /^CUPTI stopped reporting before the end of process \d+: another profiler/,
    );
  });

  it("does not wait long for a CUPTI that hangs at the program's end", async () => {
    const traced = await traceOf([...training, "exit 6"], { env: { FAKE_CUPTI_HANGS: "1" } });
    expect(traced.exitCode).toBe(6);
  });

  it("lets the program run if the trace folder cannot be written", async () => {
    const library = join(localBuildFolder, "libpinbench_trace.so");
    const env = {
      PINBENCH_TRACE_FOLDER: "/nowhere",
      PINBENCH_TRACE_CUPTI: cupti,
      CUDA_INJECTION64_PATH: library,
    };
    const lines = [...training, "sleep 1500", "exit 4"];
    const alone = start(program, [scriptOf(lines)], { env: { ...environment, ...env } });
    expect((await alone.finished).exitCode).toBe(4);
  });

  it.each([
    [
      ["trace"],
      {},
      "the command to trace is missing. Write it after --: pinbench trace -- python3 train.py.",
    ],
    [["trace", "ls"], {}, "the command to trace is missing. Write it after --: pinbench trace -- ls."],
    [
      ["trace", "--", "ls"],
      { CUDA_INJECTION64_PATH: "x" },
      "another profiler traces this command: CUDA_INJECTION64_PATH is set.",
    ],
    [
      ["trace", "--reference", reference, "--", "nosuch"],
      {},
      "There is no command nosuch. Write the command after --.",
    ],
    [
      ["trace", "--reference", reference, "--", "ls"],
      { TMPDIR: "/nowhere" },
      "cannot make a folder in /nowhere",
    ],
  ] as const)("refuses the arguments %j with the variables %j", async (args, env, sentence) => {
    const { exitCode, stderr } = await start(process.execPath, [pinbench, ...args], { env }).finished;
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining(`pinbench: ${sentence}`),
    });
  });

  it("refuses a disk without room for the trace before the command starts", async () => {
    const limited = ["-c", 'ulimit -f 100; exec "$@"', "sh", process.execPath, pinbench];
    const { exitCode, stdout, stderr } = await start("/bin/sh", [
      ...[...limited, "trace", "--reference", reference, "--", "echo", "started"],
    ]).finished;
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain("pinbench: no trace can be kept in ");
  });

  it("makes traces that pinbench compare compares, in each format of a trace", async () => {
    const [before, after] = ["before", "after"].map((name) => join(folder, `${name}.json`));
    await traceOf(training, { flags: ["--output", before!] });
    await traceOf(
      training.map((line) => line.replace("pageable", "pinned")),
      { flags: ["--output", after!] },
    );
    const compare = (...args: string[]) =>
      start(process.execPath, [pinbench, "compare", before!, after!, ...args]).finished;
    const table = await compare();
    expect(table.exitCode).toBe(0);
    expect(table.stdout).toContain("=> Large pageable copies blocked 248 ms before, 0 s now.");
    const { earlier, ...now } = traceSchema.parse(JSON.parse((await compare("--json")).stdout));
    const written = (path: string) => JSON.parse(readFileSync(path, "utf8")) as Trace;
    expect({ ...now, earlier: null }).toEqual(written(after!));
    expect(earlier!.processes).toEqual(written(before!).processes);
    expect((await compare("--format", "junit")).stderr).toBe(
      "pinbench: a comparison of this kind, trace, has no format junit.\n",
    );
    const mixed = await start(process.execPath, [pinbench, "compare", before!, reference]).finished;
    expect(mixed.stderr).toContain("before.json is a result of `pinbench trace`, not a result of a run.");
  });
});
