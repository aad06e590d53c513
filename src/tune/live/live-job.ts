import { statfsSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { readText } from "../../host/files.js";
import type { Trial } from "../loader-probe.js";
import { JobProcess } from "./job-process.js";
import { type HookCommand, type HookMessage, type HookMessageOf, readMessage } from "./live-messages.js";
import { LoaderRecord } from "./loader-record.js";

/** A process of the job that iterates loaders, with its records of them. */
export interface Member {
  connection: HookConnection;
  loaders: Map<number, LoaderRecord>;
  /** On the hook's clock (steadyNowNs); null before any. */
  firstBatchNs: number | null;
  isConnected: boolean;
}

/** Nanoseconds of CLOCK_MONOTONIC, as the hook's times are. */
export const steadyNowNs = (): number => Number(process.hrtime.bigint());

/** Interval of checks for processes that an ended command has left behind. */
const pollMs = 200;

/** A command that runs with the hook, and the messages of its processes. */
export class LiveJob {
  readonly members: Member[] = [];
  /** Used bytes of /dev/shm when the job started. */
  readonly sharedMemoryBytesBefore = usedSharedMemoryBytes();
  /** Called after each message, and when a process connects or ends. */
  onNews: (member: Member, message: HookMessage | null) => void = () => undefined;
  readonly #over = new AbortController();
  readonly #server: HookServer;
  #process: JobProcess | null = null;
  #fault: Error | null = null;

  private constructor() {
    this.#server = new HookServer(this.#listener);
  }

  /** Rejects with a usage error if the command cannot be started. */
  static async start(command: readonly string[]): Promise<LiveJob> {
    const job = new LiveJob();
    try {
      job.#process = await JobProcess.start(command, (path) => job.#server.listen(path));
    } catch (error) {
      job.#server.close();
      throw error;
    }
    void job.#process.exit.then(() => job.#watchRemains());
    return job;
  }

  get process(): JobProcess {
    return this.#process!;
  }

  /** Aborted when the command and all its processes with a hook have ended. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** The fault of pinbench itself if a hook and it do not understand each other. */
  get fault(): Error | null {
    return this.#fault;
  }

  /** Ends the job; nothing of it is left behind. Never rejects. */
  async end(): Promise<void> {
    await this.process.end();
    this.#server.close();
  }

  /** Stops listening: the loaders run on unchanged and report nothing. */
  stopListening(): void {
    this.#server.close();
  }

  /** Releases a job that has ended by itself, and processes that it has left running on purpose. */
  leave(): void {
    this.process.leave();
    this.#server.close();
  }

  readonly #listener: HookListener = {
    connected: (connection) => {
      const member = { connection, loaders: new Map(), firstBatchNs: null, isConnected: true };
      this.members.push(member);
      this.onNews(member, null);
    },
    said: (connection, message) => {
      const member = this.#memberOf(connection);
      if (message.type === "loader") member.loaders.set(message.loader, new LoaderRecord(message));
      else if (message.type === "batches") member.firstBatchNs ??= message.ns[0] ?? null;
      if ("loader" in message && message.type !== "loader") {
        member.loaders.get(message.loader)?.add(message);
      }
      this.onNews(member, message);
    },
    disconnected: (connection) => {
      const member = this.#memberOf(connection);
      member.isConnected = false;
      this.onNews(member, null);
    },
    garbled: (line) => {
      this.#fault ??= new Error(
        `A process of the job sent something that is not a message: ${line.slice(0, 200)}`,
      );
      this.#over.abort();
    },
  };

  #memberOf(connection: HookConnection): Member {
    return this.members.find((member) => member.connection === connection)!;
  }

  /** A command may end before its background processes. */
  #watchRemains(): void {
    const isTalking = this.members.some(({ isConnected }) => isConnected);
    const mayTalk = this.members.length === 0 && this.process.running().length > 0;
    if (isTalking || mayTalk) setTimeout(() => this.#watchRemains(), pollMs).unref();
    else this.#over.abort();
  }
}

/** A process of the job that iterates a loader, while it is connected. */
class HookConnection {
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
}

/** Callbacks on connections, in the order of events. */
interface HookListener {
  connected(connection: HookConnection): void;
  said(connection: HookConnection, message: HookMessage): void;
  /** The process has ended, or its interpreter is about to end. */
  disconnected(connection: HookConnection): void;
  /** A line that is no message, a fault of pinbench itself; the connection is closed. */
  garbled(line: string): void;
}

/** The socket to which the hooks of a job's processes connect. */
class HookServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(listener: HookListener) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      serve(socket, listener);
    });
  }

  /** Resolves when processes can connect to `path`. */
  async listen(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(path, resolve);
    });
  }

  /** Closes the sockets, which tells the hooks that the search has ended. */
  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

function serve(socket: Socket, listener: HookListener): void {
  let connection: HookConnection | null = null;
  let rest = "";
  // Reset by a process that was killed: its "close" follows.
  socket.on("error", () => undefined);
  socket.once("close", () => {
    if (connection !== null) listener.disconnected(connection);
  });
  socket.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (socket.destroyed) return;
      const message = readMessage(line);
      if (message === null || (message.type === "hello") !== (connection === null)) {
        listener.garbled(line);
        socket.destroy();
        return;
      }
      if (message.type === "hello") {
        connection = new HookConnection(message, socket);
        listener.connected(connection);
      } else listener.said(connection!, message);
    }
  });
}

/** Interval of reading the use of /dev/shm. */
const sampleMs = 100;

/** A trial's use of the machine, seen from outside the job. */
type Usage = Pick<Trial, "sharedMemoryBytes" | "workerPrivateBytes" | "storageReadBytes">;

/** Use by the processes that make a trial's batches. */
export interface Makers {
  /** The workers of each rank, or its own process without workers. */
  ranks: readonly (readonly number[])[];
  hasWorkers: boolean;
}

/** Measures a trial's use until `end`. */
export class TrialUsage {
  readonly #sharedBefore: number | null;
  readonly #timer: NodeJS.Timeout;
  #sharedPeak = 0;
  /** Bytes that each process had read from storage before. */
  #readBefore = new Map<number, number>();

  /** `sharedMemoryBytesBefore`: of /dev/shm before the job was there. */
  constructor(sharedMemoryBytesBefore: number | null) {
    this.#sharedBefore = sharedMemoryBytesBefore;
    this.#timer = setInterval(() => this.#sample(), sampleMs);
    this.#timer.unref();
  }

  /** Called at the first batch: the previous setting's batches no longer count. */
  begin({ ranks }: Makers, areNew: boolean): void {
    this.#sharedPeak = 0;
    if (areNew) return;
    this.#readBefore = new Map(ranks.flat().map((pid) => [pid, readBytes(pid) ?? 0]));
  }

  end({ ranks, hasWorkers }: Makers): Usage {
    this.stop();
    this.#sample();
    const shared = this.#sharedBefore === null ? null : Math.max(0, this.#sharedPeak - this.#sharedBefore);
    const read = ranks.flat().map((pid) => difference(readBytes(pid), this.#readBefore.get(pid) ?? 0));
    return {
      sharedMemoryBytes: hasWorkers ? shared : 0,
      // One rank represents all, because the kernel takes long to answer.
      workerPrivateBytes: hasWorkers ? sum((ranks[0] ?? []).map(privateBytes)) : 0,
      storageReadBytes: sum(read),
    };
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    this.#sharedPeak = Math.max(this.#sharedPeak, usedSharedMemoryBytes() ?? 0);
  }
}

/** Used bytes of /dev/shm, by all programs; null without it. */
function usedSharedMemoryBytes(): number | null {
  try {
    const { blocks, bfree, bsize } = statfsSync("/dev/shm");
    return (blocks - bfree) * bsize;
  } catch {
    return null;
  }
}

/** Bytes that a process has read from storage; null if the kernel does not say. */
function readBytes(pid: number): number | null {
  const text = /^read_bytes: (\d+)$/m.exec(readText("/", `proc/${pid}/io`) ?? "")?.[1];
  return text === undefined ? null : Number(text);
}

/** Private memory of a process; null if the kernel does not say. */
function privateBytes(pid: number): number | null {
  const text = readText("/", `proc/${pid}/smaps_rollup`);
  if (text === null) return null;
  return [...text.matchAll(/^Private_\w+:\s+(\d+) kB$/gm)].reduce(
    (bytes, [, kB]) => bytes + Number(kB) * 1024,
    0,
  );
}

function difference(now: number | null, before: number): number | null {
  return now === null ? null : Math.max(0, now - before);
}

function sum(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>(
    (total, value) => (total === null || value === null ? null : total + value),
    0,
  );
}
