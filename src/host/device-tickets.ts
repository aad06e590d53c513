import { readlinkSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { readText } from "./files.js";

/**
 * How processes of pinbench that use one device know of each other: each binds a Unix socket whose name, in Linux'
 * abstract namespace (unix(7)), says who it is, and /proc/net/unix lists the names. There is no file that could be left
 * behind, linked elsewhere, or lie where this user must not write; the kernel takes a name away with its process, however
 * that ends. All users of a machine see each other's. Containers have names of their own, unless they share the host's
 * network: of these only NVML tells.
 */

/** That a process measures on a device, or waits for it. */
export interface DeviceTicket {
  /** Names the device on this machine: its UUID. */
  device: string;
  isWaiting: boolean;
  /** The command: "run", "check". */
  command: string;
  sinceMs: number;
}

/** Another process' ticket. */
export interface SeenTicket extends DeviceTicket {
  /** Null where it is in another namespace of processes, as of a container: it means nothing here. */
  pid: number | null;
  /** Whoever is before others in the queue has the smaller one, as arrays are compared. */
  place: readonly [sinceMs: number, pid: number];
}

/** A name that is held until release(), or until the process ends. */
export interface HeldName {
  release(): Promise<void>;
}

const prefix = "pinbench/1/";

/** What of a name fits beside its first byte of 0. A longer one would be cut off, without a word. */
const mostNameBytes = 107;

/**
 * Lets one process at a time go from waiting to measuring. Of full length: some versions of Node fill a name up with
 * bytes of 0, others do not, and all must mean the same one.
 */
const turnName = `${prefix}turn`.padEnd(mostNameBytes, "\0");

/** Tells tickets apart that this process puts up for one device within a millisecond; one digit, to be short. */
let serial = 0;

/**
 * Puts a ticket up. Rejects with the system's error where there are no such sockets, as in some sandboxes, and where the
 * device's name is too long for one: a UUID has 40 bytes.
 */
export async function putUpTicket({ device, isWaiting, command, sinceMs }: DeviceTicket): Promise<HeldName> {
  serial = (serial + 1) % 10;
  const state = isWaiting ? "waiting" : "measuring";
  const words = [device, state, `${process.pid}-${serial}`, pidNamespace() ?? 0, sinceMs, command];
  const name = prefix + words.join("/");
  if (Buffer.byteLength(name) > mostNameBytes) throw new Error(`${name} is too long for a socket's name`);
  return holdName(name);
}

/** The turn to go from waiting to measuring; null while another process has it. Rejects as putUpTicket() does. */
export function takeTurn(): Promise<HeldName | null> {
  return holdName(turnName).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EADDRINUSE") return null;
    throw error;
  });
}

function holdName(name: string): Promise<HeldName> {
  // Nobody has anything to say here.
  const server: Server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    // For good: errors of later connections are nobody's.
    server.on("error", reject);
    // Exclusive: not by way of another process, as in one of Node's clusters.
    server.listen({ path: `\0${name}`, exclusive: true }, () => {
      // The name stands as long as the process does, and does not keep it running.
      server.unref();
      resolve({ release: () => new Promise((released) => server.close(() => released())) });
    });
  });
}

/** What /proc/net/unix has at the end of a line: the name, and "@" for each byte of it that is 0. */
const listedTicket =
  /@pinbench\/1\/([\w.-]+)\/(waiting|measuring)\/(\d{1,10})-\d\/(\d+)\/(\d{1,15})\/([a-z]{1,12})@*$/;

/**
 * The tickets of all other processes of this machine; null where the kernel does not list them. What is there under such
 * a name and is no ticket is passed over: any program can bind any name.
 */
export function listTickets(root = "/"): SeenTicket[] | null {
  const text = readText(root, "proc/net/unix");
  if (text === null) return null;
  const own = pidNamespace(root);
  return text.split("\n").flatMap((line) => {
    const match = listedTicket.exec(line);
    if (match === null) return [];
    const [, device, state, pidText, namespace, since, command] = match;
    const isHere = namespace === own;
    const pid = Number(pidText);
    if (isHere && pid === process.pid) return [];
    const sinceMs = Number(since);
    const isWaiting = state === "waiting";
    return [
      {
        device: device!,
        isWaiting,
        command: command!,
        sinceMs,
        pid: isHere ? pid : null,
        place: [sinceMs, pid] as const,
      },
    ];
  });
}

/** The number of this process' namespace of process ids, never 0; null where /proc does not tell. */
function pidNamespace(root = "/"): string | null {
  try {
    return /\d+/.exec(readlinkSync(`${root}/proc/self/ns/pid`))?.[0] ?? null;
  } catch {
    return null;
  }
}
