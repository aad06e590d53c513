import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openBackend } from "../../src/native/backend.js";
import type { NativeSession } from "../../src/native/contract.js";
import { loadAddon } from "../../src/native/load.js";
import { filesIn } from "../helpers/baseline-folder.js";
import { measureBaseline, type Scenario, scenarios } from "../helpers/kill-scenarios.js";
import {
  describeMoment,
  type Killing,
  randomMoment,
  send,
  strikeAt,
  type Way,
  ways,
} from "../helpers/killing.js";
import { commandLine, markName, nextMark, processesWith } from "../helpers/processes.js";
import { pinbench } from "../helpers/run-cli.js";
import { seeded } from "../helpers/seeded.js";
import { torchMissing } from "../helpers/test-python.js";
import { countTrials, trialSeed, trials } from "../helpers/trials.js";

/** A cache that all commands share: checking modules anew would take most of a short command's time. */
const cache = mkdtempSync(join(tmpdir(), "pinbench-kill-cache-"));
afterAll(() => rmSync(cache, { recursive: true, force: true }));

/** Where emulated devices count their memory in use, which this process only reads. */
const counted = { PINBENCH_EMULATED_SHARED: join(cache, "device-memory") };
let session: NativeSession;
beforeAll(async () => {
  Object.assign(process.env, counted);
  const { driver } = await openBackend("emulated", loadAddon());
  session = await driver.openSession({ device: 0, cpus: [], threads: 1, numaNode: null, seed: 1 });
});
afterAll(() => session.close());

/** Commands that run at the same time, as they mostly wait. */
const atOnce = 3;

describe.each(scenarios.map((scenario, index) => ({ ...scenario, index })))("pinbench $name", (scenario) => {
  const count = trials(...scenario.times);
  const isLeftOut = count === 0 || (scenario.needsTorch === true && torchMissing !== null);

  it.skipIf(isLeftOut)("leaves whole files and nothing else, whenever and however it is ended", async () => {
    const counts = countTrials("commands killed at random moments");
    await measureBaseline();
    const { freeBytes } = session.memoryInfo();
    const { uniform } = seeded(trialSeed * 1000 + scenario.index);
    const startedMs = performance.now();
    expect(await new Trial(scenario, null, { at: "time", share: 1 }, 0, true).problems()).toEqual([]);
    const durationMs = performance.now() - startedMs;
    const killings = Array.from({ length: count }, (_, i) => {
      // Each way comes as often as any other, in another order for each command.
      const way = ways[(i + scenario.index * 3 + trialSeed) % ways.length]!;
      return new Trial(scenario, way, randomMoment(uniform), durationMs, uniform() < 0.5);
    });
    const found: string[] = [];
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (let trial = killings.shift(); trial !== undefined; trial = killings.shift()) {
          counts.tries();
          const problems = await trial.problems();
          if (problems.length === 0) counts.survives();
          else found.push(`${trial}:\n${problems.join("\n")}`);
        }
      }),
    );
    expect(found).toEqual([]);
    expect(session.memoryInfo().freeBytes).toBe(freeBytes);
  });
});

/** How long processes that outlive the command may take to clean up. */
const goneMs = 20_000;

const oldText = "the good file of before";

/** One run of a command that is struck at one moment in one way; a `way` of null lets it come to its own end. */
class Trial {
  readonly #mark = nextMark();
  readonly #place = mkdtempSync(join(tmpdir(), "pinbench-kill-"));
  readonly #cwd = this.#folder("cwd");
  readonly #temporary = this.#folder("tmp");
  readonly #home = this.#folder("home");
  readonly #problems: string[] = [];
  /** What was seen while the command ran, and may have left shared memory behind: processes and temporary folders. */
  readonly #pids = new Set<number>();
  readonly #scratch = new Set<string>();
  /** Shared memory of earlier processes, whose ids may be used again. */
  readonly #sharedBefore = new Set(readdirSync("/dev/shm"));

  constructor(
    readonly scenario: Scenario,
    readonly way: Way | null,
    readonly moment: Killing["moment"],
    readonly durationMs: number,
    /** Whether older files stand in the place of its outputs. */
    readonly isOver: boolean,
  ) {
    onTestFinished(() => rmSync(this.#place, { recursive: true, force: true }));
  }

  toString(): string {
    const over = this.isOver ? "over files of before" : "without files of before";
    return `${this.way?.name ?? "nothing"} ${describeMoment(this.moment)}, ${over}`;
  }

  /** Runs the command; returns a sentence for each problem. */
  async problems(): Promise<string[]> {
    const { scenario, way } = this;
    const { outputs = {}, folders = {} } = scenario;
    scenario.prepare?.(this.#cwd);
    for (const name of Object.keys(outputs)) if (this.isOver) writeFileSync(join(this.#cwd, name), oldText);
    const before = Object.fromEntries(
      Object.keys(folders).map((name) => [
        name,
        existsSync(this.#path(name)) ? filesIn(this.#path(name)) : null,
      ]),
    );
    const finished = await this.#run(way);
    await this.#expectNothingLeft();
    if (finished === null) this.#problems.push("it did not end");
    else if (!this.#isExpected(finished.exitCode ?? finished.signal!)) {
      this.#problems.push(`it ended with ${finished.exitCode ?? finished.signal}: ${finished.stderr}`);
    }
    await this.#checkOutputs();
    for (const [name, check] of Object.entries(folders)) {
      await this.#check(name, () =>
        check(this.#path(name), { files: before[name]!, isKilled: this.#isKilled }),
      );
    }
    await this.#checkNextRun();
    rmSync(this.#place, { recursive: true, force: true });
    return this.#problems;
  }

  get #isKilled(): boolean {
    return this.way !== null;
  }

  #folder(name: string): string {
    const path = join(this.#place, name);
    mkdirSync(path);
    return path;
  }

  #path(name: string): string {
    return join(this.#cwd, name);
  }

  async #run(way: Way | null) {
    return strikeAt({
      command: [process.execPath, pinbench, ...this.scenario.args],
      cwd: this.#cwd,
      env: {
        ...counted,
        ...this.scenario.env,
        [markName]: this.#mark,
        TMPDIR: this.#temporary,
        HOME: this.#home,
        XDG_CACHE_HOME: cache,
        XDG_RUNTIME_DIR: this.#home,
      },
      way,
      moment: this.moment,
      durationMs: this.durationMs,
      watched: [this.#cwd, this.#temporary, ...this.#foldersThere()],
      onStrike: () => this.#look(),
    });
  }

  #foldersThere(): string[] {
    return Object.keys(this.scenario.folders ?? {})
      .map((name) => this.#path(name))
      .filter((path) => existsSync(path));
  }

  #isExpected(end: number | NodeJS.Signals): boolean {
    const { codes } = this.scenario;
    return (typeof end === "number" && codes.includes(end)) || (this.way?.ends.includes(end) ?? false);
  }

  /** Notes which processes and temporary folders there are. */
  #look(): number[] {
    const pids = processesWith(this.#mark);
    for (const pid of pids) this.#pids.add(pid);
    for (const name of readdirSync(this.#temporary)) this.#scratch.add(name);
    return pids;
  }

  /** Requires that no process, shared memory, temporary file or file in the user's folders is left. */
  async #expectNothingLeft(): Promise<void> {
    const untilMs = performance.now() + goneMs;
    let left = this.#left();
    while (left.length > 0 && performance.now() < untilMs) {
      await sleep(50);
      left = this.#left();
    }
    this.#problems.push(...left);
    for (const pid of this.#look()) send(pid, "SIGKILL");
  }

  #left(): string[] {
    const processes = this.#look().map((pid) => `left process ${pid}: ${commandLine(pid)}`);
    // Python's multiprocessing has folders of its own: a script that a signal ends leaves them.
    const files = [this.#temporary, this.#home]
      .flatMap((folder) => readdirSync(folder))
      .filter((name) => !name.startsWith("pymp-"));
    const shared = readdirSync("/dev/shm").filter((name) => {
      if (this.#sharedBefore.has(name)) return false;
      const maker = Number(/^torch_(\d+)_/.exec(name)?.[1] ?? Number.NaN);
      return this.#pids.has(maker) || [...this.#scratch].some((scratch) => name.includes(scratch));
    });
    return [
      ...processes,
      ...files.map((name) => `left the temporary file ${name}`),
      ...shared.map((name) => `left /dev/shm/${name}`),
    ];
  }

  /** Requires that each output is absent, unchanged or whole, and that there is no other file. */
  async #checkOutputs(): Promise<void> {
    const { outputs = {}, folders = {} } = this.scenario;
    for (const name of readdirSync(this.#cwd)) {
      if (name in folders) continue;
      const text = readFileSync(this.#path(name), "utf8");
      const target = name.replace(/\.partial$/, "");
      const isTemporary = /(\.partial)?\.[0-9a-f]{8}\.tmp$/.test(name);
      if (this.#isKilled && isTemporary && name.replace(/(\.partial)?\.[0-9a-f]{8}\.tmp$/, "") in outputs)
        continue;
      const isPartial = target !== name && this.#isKilled;
      if (!(name in outputs) && !(isPartial && target in outputs)) {
        this.#problems.push(`left ${name}`);
      } else if (text !== oldText || !this.isOver) {
        await this.#check(name, () => outputs[target]!(text));
      }
    }
    for (const name of Object.keys(outputs)) {
      const isThere = existsSync(this.#path(name));
      if (this.isOver && !isThere) this.#problems.push(`${name} is gone`);
      const isNew = isThere && readFileSync(this.#path(name), "utf8") !== oldText;
      if (this.way === null && !isNew) this.#problems.push(`${name} was not written`);
    }
  }

  async #check(what: string, check: () => Promise<void> | void): Promise<void> {
    try {
      await check();
    } catch (error) {
      this.#problems.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Requires that a lock that was left behind does not block the next run. */
  async #checkNextRun(): Promise<void> {
    const hasLock = this.#foldersThere().some((folder) =>
      readdirSync(folder).some((name) => /\.lock$/.test(name)),
    );
    if (!hasLock || this.#problems.length > 0) return;
    const finished = await this.#run(null);
    if (finished?.exitCode !== 0)
      this.#problems.push(`the next one ended with ${finished?.exitCode}: ${finished?.stderr}`);
  }
}
