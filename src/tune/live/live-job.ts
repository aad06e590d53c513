import { rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { PinbenchError } from "../../errors.js";
import { Child, eachLine } from "../../host/child.js";
import { readText } from "../../host/files.js";
import { Guard } from "../../host/processes.js";
import { trainingPath } from "../../host/python/python-programs.js";
import { makeTemporaryFolder, temporaryFolderHint, temporaryPath } from "../../host/temporary-folder.js";
import { JobPythons } from "./job-pythons.js";
import { type HookCommand, type HookMessage, type HookMessageOf, readMessage } from "./live-messages.js";
import { LoaderRecord } from "./loader-record.js";

/** A process of the job that iterates loaders. */
export class Member {
  readonly loaders = new Map<number, LoaderRecord>();
  isConnected = true;
  readonly #socket: Socket;

  constructor(
    readonly hello: HookMessageOf<"hello">,
    socket: Socket,
  ) {
    this.#socket = socket;
  }

  send(command: HookCommand): void {
    this.#socket.write(`${JSON.stringify(command)}\n`);
  }

  add(message: HookMessage): void {
    if (message.type === "loader") this.loaders.set(message.loader, new LoaderRecord(message));
    else if ("loader" in message) this.loaders.get(message.loader)?.add(message);
  }
}

/** Nanoseconds of CLOCK_MONOTONIC, as the hook's times are. */
export const steadyNowNs = (): number => Number(process.hrtime.bigint());

export const pythonFolder = fileURLToPath(new URL("../python", import.meta.url));

const socketVariable = "PINBENCH_TUNE_SOCKET";

const pollMs = 200;

/** A folder of a job, whose guard ends the job and removes the folder if pinbench is killed. */
export class JobFolder {
  readonly path: string;
  readonly guard: Guard;

  /** Processes of the job have the environment variable `variable`, whose value is a path in this folder. */
  constructor(readonly variable: string) {
    this.path = pathForSocket();
    // The guard starts before there is anything to remove.
    this.guard = new Guard("family-guard.js", [variable, this.mark, this.path, "end"]);
    try {
      makeTemporaryFolder(this.path);
    } catch (error) {
      this.dismiss();
      throw error;
    }
  }

  get mark(): string {
    return socketPath(this.path);
  }

  /** Starts a command with pinbench's hook; `environment` configures the hook. */
  start(command: readonly string[], environment: NodeJS.ProcessEnv): Promise<Child> {
    const { PYTHONPATH: others } = process.env;
    return Child.start(command, {
      environment: {
        ...environment,
        PATH: trainingPath(process.env),
        PYTHONPATH: others ? `${pythonFolder}${delimiter}${others}` : pythonFolder,
      },
      mark: [this.variable, this.mark],
      guard: this.guard,
    });
  }

  /** From now on the job outlives even a killed pinbench. Removes the folder. */
  dismiss(): void {
    this.guard.dismiss();
    rmSync(this.path, { recursive: true, force: true });
  }
}

function socketPath(folder: string): string {
  return join(folder, "hook");
}

/** The longest path of a Unix socket without its final 0 (sun_path of unix(7) has 108 bytes). */
const longestSocketPath = 107;

/** Path of a folder to be created. */
function pathForSocket(): string {
  const paths = [temporaryPath(), temporaryPath("/tmp")];
  const path = paths.find((one) => Buffer.byteLength(socketPath(one)) <= longestSocketPath);
  if (path !== undefined) return path;
  throw new PinbenchError("usage", `${tmpdir()} is too long a path for a socket in it.`, {
    hint: temporaryFolderHint,
  });
}

/** Runs a command with a search's hook, and receives the messages of its processes. */
export class LiveJob {
  readonly members: Member[] = [];
  readonly pythons = new JobPythons(pythonFolder);
  /** An internal error: the hook and pinbench do not understand each other. */
  fault: Error | null = null;
  /** Called after each message, and when a process connects or ends. */
  onNews: (member: Member, message: HookMessage | null) => void = () => undefined;
  readonly #over = new AbortController();
  readonly #server = createServer((socket) => this.#serve(socket));
  readonly #sockets = new Set<Socket>();
  readonly #folder = new JobFolder(socketVariable);
  #process: Child | null = null;

  /** Rejects with a usage error if the command cannot be started. */
  static async start(command: readonly string[]): Promise<LiveJob> {
    const job = new LiveJob();
    try {
      await new Promise<void>((resolve, reject) => {
        job.#server.once("error", reject);
        job.#server.listen(job.#folder.mark, resolve);
      });
      job.#process = await job.#folder.start(command, { PINBENCH_TUNE: "search" });
    } catch (error) {
      job.#disconnect();
      job.#folder.dismiss();
      throw error;
    }
    job.#watch();
    return job;
  }

  get process(): Child {
    return this.#process!;
  }

  /** Aborted when the command and all its processes with a hook have ended, or after a `fault`. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Ends all processes of the job, and removes its folder. Never rejects. */
  async end(): Promise<void> {
    this.#disconnect();
    await this.process.end();
    this.#folder.dismiss();
  }

  /** The hooks see the closed sockets, and stop the search. */
  #disconnect(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(socket: Socket): void {
    let member: Member | null = null;
    this.#sockets.add(socket);
    // A killed process resets its socket; "close" follows.
    socket.on("error", () => undefined);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      if (member === null) return;
      member.isConnected = false;
      this.onNews(member, null);
    });
    eachLine(socket, (line) => {
      const message = readMessage(line);
      if (message === null || (message.type === "hello") !== (member === null)) {
        const said = line.slice(0, 200);
        this.fault ??= new Error(`A process of the job sent something that is not a message: ${said}`);
        this.#over.abort();
        socket.destroy();
      } else if (message.type === "hello") {
        member = new Member(message, socket);
        this.members.push(member);
        this.#process?.interruptFirst(message.pid);
        this.onNews(member, null);
      } else {
        member!.add(message);
        this.onNews(member!, message);
      }
    });
  }

  /** A command may end before its background processes. */
  #watch(): void {
    const isTalking = this.#sockets.size > 0;
    if (this.members.length === 0) this.pythons.look(this.process.running());
    const mayTalk = this.members.length === 0 && this.process.running().length > 0;
    if (this.process.ended === null || isTalking || mayTalk) {
      setTimeout(() => this.#watch(), pollMs).unref();
    } else this.#over.abort();
  }
}

/** Total private memory of processes in bytes; null if the kernel does not report it. */
export function privateBytesOf(pids: readonly number[]): number | null {
  let bytes = 0;
  for (const pid of pids) {
    const text = readText("/", `proc/${pid}/smaps_rollup`);
    if (text === null) return null;
    for (const [, kB] of text.matchAll(/^Private_\w+:\s+(\d+) kB$/gm)) bytes += Number(kB) * 1024;
  }
  return bytes;
}
