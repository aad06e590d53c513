import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { loadAddon } from "../../src/native/load.js";
import { cleanEnvironment } from "../helpers/run-cli.js";
import { countTrials, trials } from "../helpers/trials.js";

/**
 * Calls of the addon at the wrong time: after close(), during a measurement, from two sides at once, in a thread that is
 * ended, in a process that exits. Each is a program of its own, so that a crash is seen as one.
 */

const built = (path: string) => JSON.stringify(pathToFileURL(resolve("dist", path)).href);

/** What each program begins with: a session that is ready, and a request that takes half a minute unless it is aborted. */
const prelude = `
import { openBackend } from ${built("native/backend.js")};
import { loadAddon } from ${built("native/load.js")};
import { setTimeout as sleep } from "node:timers/promises";
const { driver } = await openBackend("emulated", loadAddon());
const arena = { chunksOfWorker: [2], chunkBytes: 1 << 20 };
async function openSession(device = 0) {
  const session = await driver.openSession({ device, cpus: [], threads: 1, numaNode: null, seed: 3 });
  await session.reserveHost("pinned", arena);
  await session.reserveDevice(arena, 1);
  return session;
}
const request = {
  direction: "h2d", memory: "pinned", sizeBytes: 1 << 16, workers: 1, mode: "throughput", cache: "cold",
  buffers: 2, firstBuffer: 0, warmupCopies: 1, warmupBytes: 1 << 16, copiesPerSample: 1, samples: 4, verify: "last",
  readLink: false,
};
const endless = { ...request, copiesPerSample: 1 << 30, samples: 1 };
const outcome = (promise) => promise.then((value) => value ?? "done", (error) => error.code ?? error.name);
const thrown = (call) => { try { call(); return "nothing"; } catch (error) { return error.code ?? error.name; } };
const say = (...words) => console.log(words.join(" "));
let session = await openSession();
`;

interface Program {
  what: string;
  code: string;
  says: string;
  flags?: string[];
  env?: Record<string, string>;
}

const programs: Program[] = [
  {
    what: "every call after close() fails, as the session is closed",
    code: `
      await session.close();
      const late = [
        () => session.measure(request), () => session.reserveHost("pinned", arena), () => session.reserveDevice(arena, 1),
        () => session.measurePinning("pinned", 4096), () => session.measureFirstCopy(0), () => session.memoryInfo(),
        () => session.startLoad({ kind: "host", hostThreads: 1, hostBytes: 1 << 20 }),
        () => session.loadWeights({ files: [], pieces: [], way: "mapped", threads: 1 }),
      ];
      say(new Set(late.map(thrown)).size, thrown(late[0]), thrown(() => session.abort()), await outcome(session.close()));`,
    says: "1 SESSION_CLOSED nothing done",
  },
  {
    what: "close() during a measurement lets the measurement finish",
    code: `
      const measured = outcome(session.measure({ ...request, samples: 2000 }));
      const closed = outcome(session.close());
      say((await measured).aborted, await closed);`,
    says: "false done",
  },
  {
    what: "abort() and close() during a measurement end the measurement",
    code: `
      const measured = outcome(session.measure(endless));
      await sleep(20);
      session.abort();
      session.close();
      say((await measured).aborted);`,
    says: "true",
  },
  {
    what: "eight measurements of one session at once all copy the right data",
    code: `
      const results = await Promise.all(Array.from({ length: 8 }, () => session.measure(request)));
      say(results.every(({ aborted, verification }) => !aborted && verification.mismatches.length === 0));`,
    says: "true",
  },
  {
    what: "reserving memory anew during a measurement does not corrupt the data",
    code: `
      const measured = session.measure({ ...request, samples: 500 }).then(
        ({ verification }) => verification.mismatches.length,
        // Which of both begins first is for the threads to say.
        ({ code }) => (code === "NOT_RESERVED" ? 0 : code),
      );
      await session.reserveDevice({ chunksOfWorker: [1], chunkBytes: 1 << 20 }, 1);
      await session.reserveHost("pinned", { chunksOfWorker: [1], chunkBytes: 1 << 21 });
      say(await measured);`,
    says: "0",
  },
  {
    what: "two sessions of one device measure at once",
    code: `
      const second = await openSession();
      const results = await Promise.all([session, second].map((one) => one.measure(request)));
      say(results.map(({ verification }) => verification.mismatches.length));
      await session.close();
      say((await second.measure(request)).aborted);`,
    says: "0,0\nfalse",
  },
  {
    what: "many abort() at once end a measurement and the later ones of its session",
    code: `
      const measured = session.measure(endless);
      for (let i = 0; i < 100; ++i) setImmediate(() => session.abort());
      say((await measured).aborted, await outcome(session.measure(request).then(({ aborted }) => String(aborted))));`,
    says: "true true",
  },
  {
    what: "a session without references lives until its measurement is done",
    code: `
      const measured = session.measure({ ...request, samples: 200 });
      session = null;
      for (let i = 0; i < 20; ++i) { gc(); await sleep(1); }
      say((await measured).columns[0].durationNs.length);
      gc();`,
    says: "200",
    flags: ["--expose-gc"],
  },
  {
    what: "results stay valid after their session is closed",
    code: `
      const { columns } = await session.measure(request);
      await session.close();
      session = null;
      gc();
      say(columns[0].durationNs.every((duration) => duration > 0));`,
    says: "true",
    flags: ["--expose-gc"],
  },
  {
    what: "a result that cannot be converted to JavaScript rejects its promise",
    code: `
      Object.defineProperty(Object.prototype, "columns", { configurable: true, set() { throw new Error("a setter's own"); } });
      const rejected = await session.measure(request).then(() => "resolved", ({ message }) => message);
      delete Object.prototype.columns;
      say(rejected, (await session.measure(request)).aborted);`,
    says: "a setter's own false",
  },
  {
    what: "a process can exit in the middle of a measurement",
    code: `
      session.measure({ ...request, samples: 2000 });
      setTimeout(() => { say("bye"); process.exit(0); }, 5);`,
    says: "bye",
  },
  {
    what: "a worker thread that loads the addon too has a session of its own",
    code: `
      const { Worker } = await import("node:worker_threads");
      const code = ${JSON.stringify("PRELUDE")} + \`
        const { parentPort } = await import("node:worker_threads");
        parentPort.postMessage((await session.measure(request)).verification.mismatches.length);
        await session.close();\`;
      const thread = new Worker(new URL("data:text/javascript," + encodeURIComponent(code)));
      thread.on("message", (mismatches) => say("thread", mismatches));
      await new Promise((resolve) => thread.on("exit", resolve));
      say("main", (await session.measure(request)).verification.mismatches.length);`,
    says: "thread 0\nmain 0",
  },
  {
    what: "a worker thread ended in the middle of a measurement does not disturb the main thread",
    code: `
      const { Worker } = await import("node:worker_threads");
      const code = ${JSON.stringify("PRELUDE")} + \`
        const { parentPort } = await import("node:worker_threads");
        session.measure({ ...request, samples: 2000 });
        parentPort.postMessage("started");\`;
      const thread = new Worker(new URL("data:text/javascript," + encodeURIComponent(code)));
      await new Promise((resolve) => thread.on("message", resolve));
      await thread.terminate();
      say((await session.measure(request)).verification.mismatches.length);`,
    says: "0",
  },
];

async function runProgram({
  code,
  flags = [],
  env = {},
}: Program): Promise<{ status: number | null; output: string }> {
  const text = prelude + code.replaceAll(JSON.stringify("PRELUDE"), JSON.stringify(prelude));
  const child = spawn(process.execPath, [...flags, "--input-type=module", "-e", text], {
    env: { ...cleanEnvironment(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const hung = setTimeout(() => child.kill("SIGKILL"), 60_000);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (part: string) => {
      output += part;
    });
  }
  const [status] = (await once(child, "close")) as [number | null];
  clearTimeout(hung);
  return { status, output: output.trim() };
}

/**
 * The limit leaves half of what a copy of the text needs, and so much that Node's own threads have enough. Not for
 * AddressSanitizer, which ends a process itself then.
 */
const withoutMemory: Program = {
  what: "an argument for which there is no memory",
  code: `
    const { execFileSync } = await import("node:child_process");
    const { readFileSync } = await import("node:fs");
    globalThis.kept = Buffer.alloc(384 << 20);  // what was given back would be room for the copy
    const text = kept.toString("latin1");
    const [, kiB] = /VmSize:\\s+(\\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"));
    execFileSync("prlimit", ["--pid", process.pid, "--as=" + (kiB * 1024 + (192 << 20))]);
    const { addon } = loadAddon();
    for (const call of [() => addon.dropFromPageCache([text]), () => addon.openRendezvous(text)]) {
      try { call(); } catch (error) { say(error.message); }
    }`,
  says: "the process is out of memory\nthe process is out of memory",
  // On a busy machine threads that wait for one arena make another one, which reserves up to 128 MiB.
  env: { MALLOC_ARENA_MAX: "1" },
};

describe.skipIf(loadAddon().addon.build.sanitizer !== null)("a call of the native addon", () => {
  it("throws if there is no memory for its argument, and the process goes on", async () => {
    expect(await runProgram(withoutMemory)).toEqual({ status: 0, output: withoutMemory.says });
  });
});

describe("the native addon called at the wrong time:", () => {
  it.each(programs.map((program) => [program.what, program] as const))("%s", async (_, program) => {
    const counts = countTrials("calls of the addon at the wrong time");
    for (let i = 0; i < trials(1, 20); ++i) {
      counts.tries();
      expect(await runProgram(program)).toEqual({ status: 0, output: program.says });
      counts.survives();
    }
  });
});
