import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it, vi } from "vitest";
import { readMessage } from "../../../src/tune/live/live-messages.js";
import { testPython, torchMissing } from "../../helpers/test-python.js";
import { type Change, playPinbench, type Said, withWorkers } from "./hooked-script.js";

/** How long a job may do nothing, of which most take a tenth of a second. */
const seconds = 8;
vi.setConfig({ testTimeout: 240_000, maxConcurrency: 10 });

/** A script of test/fixtures/tune/jobs. */
interface Job {
  name: string;
  title: string;
  module: string;
  /** From how many batches on it is to have how many workers, whether they persist, and how far ahead they are. */
  changes: [number, number, boolean?, number?][];
  /** "changed" where a change must be made, "note" where pinbench must hear why none is or that one has failed. */
  tells: "changed" | "note" | "any";
  /** The number of the loader that is tuned. */
  loader: number;
}

/** What it is asked for. */
interface Request {
  name: string;
  folder: string;
  socket: string | null;
  options: number[];
}

/** What run.py answers. */
interface Ended {
  folder: string;
  status: number | null;
  left: number;
}

const scripts = fileURLToPath(new URL("../../fixtures/tune/jobs/", import.meta.url));

/** The process that runs all jobs. */
class Runner {
  readonly #process: ChildProcess;
  readonly #lines: Interface;
  readonly #waiting = new Map<string, (ended: Ended) => void>();

  private constructor() {
    const env = { ...process.env, OMP_NUM_THREADS: "1" };
    this.#process = spawn(testPython, ["-B", "run.py"], {
      cwd: scripts,
      env,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface(this.#process.stdout!);
  }

  static async start(): Promise<{ runner: Runner; table: Job[] }> {
    const runner = new Runner();
    const table = await new Promise<string>((resolve) => runner.#lines.once("line", resolve));
    runner.#lines.on("line", (line) => {
      const ended = JSON.parse(line) as Ended;
      runner.#waiting.get(ended.folder)?.(ended);
    });
    return { runner, table: JSON.parse(table) };
  }

  run(request: Request): Promise<Ended> {
    return new Promise((resolve) => {
      this.#waiting.set(request.folder, resolve);
      this.#process.stdin!.write(`${JSON.stringify({ ...request, seconds })}\n`);
    });
  }

  end(): void {
    this.#process.stdin!.end();
  }
}

const { runner, table } = torchMissing === null ? await Runner.start() : { runner: null, table: [] };
afterAll(() => runner?.end());

/** What the loop and the user of a job have noticed of it. */
interface Got {
  seen: string[];
  ending: string;
  stdout: string;
  stderr: string;
  /** Processes and files that it has left. */
  left: string[];
}

/** A folder for a job, with a place for its temporary files. */
function makeFolder(onTestFinished: (end: () => void) => void): string {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-job-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "tmp"));
  return folder;
}

/**
 * At an error torch's DataLoader makes empty files, to see whether too many are open. Its own handler, which raises when a
 * worker dies, leaves one of them if it comes in the middle.
 */
function isOfTorchsCheck(path: string): boolean {
  const facts = lstatSync(path);
  return /^tmp[a-z0-9_]{8}$/.test(basename(path)) && facts.isFile() && facts.size === 0;
}

async function runJob(request: Request): Promise<Got> {
  const { folder } = request;
  const { status, left } = await runner!.run(request);
  const read = (file: string) =>
    existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8") : "";
  const lines = (file: string) => read(file).trim().split("\n");
  const files = readdirSync(join(folder, "tmp"))
    .filter((file) => !isOfTorchsCheck(join(folder, "tmp", file)))
    .map((file) => file.replace(/-.*/, "-*"));
  return {
    seen: lines("seen"),
    ending: status === null ? "none" : `exit code ${status}`,
    stdout: read("stdout"),
    // The frames of a traceback differ, and so does the worker that raised it.
    stderr: status === 0 ? read("stderr") : lines("stderr").at(-1)!,
    left: [...Array<string>(left).fill("a process"), ...new Set(files)],
  };
}

const usualChanges = (job: Job): Change[] =>
  job.changes.map(([at, workers, persist, ahead]) => [at, withWorkers(workers, ahead, persist)] as const);

async function runHooked(
  job: Job,
  folder: string,
  { changes = usualChanges(job), options = [] as number[] } = {},
): Promise<{ got: Got; said: Said[] }> {
  const socket = join(folder, "socket");
  // The job waits for the first request, unless it has ended meanwhile.
  const onAsked = () => existsSync(folder) && writeFileSync(join(folder, "asked"), "");
  const pinbench = await playPinbench(socket, changes, { loader: job.loader, onAsked, rests: true });
  const got = await runJob({ name: job.name, folder, socket, options });
  pinbench.close();
  return { got, said: pinbench.said.flat() };
}

/** In what a job differs that has the hook, in sentences. */
function differences(plain: Got, hooked: Got): string[] {
  const found: string[] = [];
  const at = plain.seen.findIndex((line, index) => line !== hooked.seen[index]);
  if (plain.seen.length !== hooked.seen.length) {
    found.push(`It saw ${plain.seen.length} things, and with the hook ${hooked.seen.length}.`);
  }
  if (at >= 0) {
    found.push(
      `Thing ${at} was ${plain.seen[at]!.slice(0, 300)}, and with the hook ${hooked.seen[at]?.slice(0, 300)}.`,
    );
  }
  // torch itself leaves something behind at times.
  const left = hooked.left.filter((file) => !plain.left.includes(file));
  if (left.length > 0) found.push(`With the hook it left ${left.join(", ")}.`);
  for (const what of ["ending", "stdout", "stderr"] as const) {
    const [one, other] = [plain, hooked].map((got) => JSON.stringify(got[what]));
    if (one !== other) found.push(`${what}: ${one}, and with the hook ${other}`);
  }
  return found;
}

const isNote = ({ type, reason, untouchable }: Said) =>
  type === "failed" || (type === "safety" && reason !== null) || Boolean(untouchable);

describe.each([
  ["plain_loaders", "a loader"],
  ["own_loaders", "a loader"],
  ["loops", "a loop that"],
  ["streams", "a stream"],
  ["data_sets", "a data set"],
  ["hostile", "batches"],
  ["bystanders", "a script that"],
])("a job gets what it gets without the hook: %s", (module, begin) => {
  const jobs = table.filter((job) => job.module === module);
  for (const job of jobs) {
    it.concurrent(`${begin} ${job.title} (${job.name})`, async ({ expect, onTestFinished }) => {
      const request = { name: job.name, folder: makeFolder(onTestFinished), socket: null, options: [] };
      const runsPlain = runJob(request);
      // Whether it is asked before it is over depends on what else runs here; what it gets never does.
      let hasTold = false;
      for (let tries = 0; !hasTold; tries++) {
        expect(tries, "the times it ran without an answer to a change").toBeLessThan(3);
        const { got, said } = await runHooked(job, makeFolder(onTestFinished));
        expect(differences(await runsPlain, got)).toEqual([]);
        expect(said.filter((message) => readMessage(JSON.stringify(message)) === null)).toEqual([]);
        const changed = said.some(({ type }) => type === "changed");
        const note = said.some(isNote);
        if (job.tells === "note" && changed) expect(note).toBe(true);
        hasTold = { any: true, changed, note }[job.tells];
      }
    });
  }
});

/** Number of random loaders and the first seed; more of them are tried by hand. */
const randomJobs = Number(process.env.PINBENCH_RANDOM_JOBS ?? 4);
const firstSeed = Number(process.env.PINBENCH_RANDOM_SEED ?? 1);

/** Settings at random moments. */
function randomChanges(seed: number): Change[] {
  let state = seed;
  const below = (end: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * end);
  };
  const changes: Change[] = [];
  for (let atBatch = 4 + below(8); changes.length < 6; atBatch += 1 + below(25)) {
    changes.push([atBatch, withWorkers(below(4), 1 + below(4), below(3) === 0)]);
  }
  return changes;
}

describe.runIf(runner !== null)("a job gets what it gets without the hook: random loaders", () => {
  const seeds = new Set(Array.from({ length: randomJobs }, (_, index) => firstSeed + index));
  // A sampler that draws 32 numbers at a time, and workers that look further ahead than the script's own.
  seeds.add(490);
  it.concurrent.each([...seeds])("a loader of seed %i", async (seed) => {
    const job = table.find(({ name }) => name === "drawn_by_chance")!;
    const folders = [0, 1].map(() => mkdtempSync(join(tmpdir(), "pinbench-job-")));
    for (const folder of folders) mkdirSync(join(folder, "tmp"));
    try {
      const options = [seed];
      const [plain, { got }] = await Promise.all([
        runJob({ name: job.name, folder: folders[0]!, socket: null, options }),
        runHooked(job, folders[1]!, { changes: randomChanges(seed), options }),
      ]);
      expect(differences(plain, got)).toEqual([]);
    } finally {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    }
  });
});
