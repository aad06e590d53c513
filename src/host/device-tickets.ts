import { readlinkSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { readText } from "./files.js";
import { msPerTick, readProcessStat } from "./processes.js";

/**
 * Lets pinbench processes on one device find each other. Each binds a Unix socket in Linux' abstract namespace
 * (unix(7)) whose name describes it; /proc/net/unix lists the names. No file can be left behind, redirected by a link,
 * or forbidden, and the kernel removes the name when the process ends. All users of a machine see each other's names.
 * Containers have separate names unless they share the host's network; otherwise only NVML shows their processes.
 */

interface DeviceTicket {
  /** The device's name on this machine, usually its UUID. */
  device: string;
  isWaiting: boolean;
  command: string;
  sinceMs: number;
}

export interface ListedTicket extends DeviceTicket {
  pid: number;
  /** Position in the queue, compared as arrays: smaller is earlier. */
  place: readonly [sinceMs: number, pid: number];
}

/** A name that is held until release(), or until the process ends. */
export interface HeldName {
  release(): Promise<void>;
}

const prefix = "pinbench/1/";

/** Longest name after its leading zero byte. A longer one would be cut off silently. */
const mostNameBytes = 107;

/**
 * Held by the one process that goes from waiting to measuring. Padded to full length, because only some versions of
 * Node pad names with zero bytes.
 */
const turnName = `${prefix}turn`.padEnd(mostNameBytes, "\0");

/** Distinguishes this process' tickets for one device within a millisecond. One digit keeps names short. */
let serial = 0;

/**
 * Announces a ticket. Rejects with the system's error if abstract sockets are missing, as in some sandboxes, or if the
 * device's name is too long (a UUID has 40 bytes).
 */
export async function putUpTicket({ device, isWaiting, command, sinceMs }: DeviceTicket): Promise<HeldName> {
  serial = (serial + 1) % 10;
  const state = isWaiting ? "waiting" : "measuring";
  const words = [device, state, `${process.pid}-${serial}`, pidNamespace() ?? 0, sinceMs, command];
  const name = prefix + words.join("/");
  if (Buffer.byteLength(name) > mostNameBytes) throw new Error(`${name} is too long for a socket's name`);
  return holdName(name);
}

/** Takes the turn to go from waiting to measuring; null if another process has it. Rejects like putUpTicket(). */
export function takeTurn(): Promise<HeldName | null> {
  return holdName(turnName).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EADDRINUSE") return null;
    throw error;
  });
}

function holdName(name: string): Promise<HeldName> {
  // Nobody needs to connect.
  const server: Server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    // Stays installed: errors of later connections do not matter.
    server.on("error", reject);
    // Exclusive, so that Node's clusters do not share it.
    server.listen({ path: `\0${name}`, exclusive: true }, () => {
      // The name lives as long as the process, but does not keep it alive.
      server.unref();
      resolve({ release: () => new Promise((released) => server.close(() => released())) });
    });
  });
}

/** The end of a line in /proc/net/unix: the name, with "@" for each zero byte. */
const listedTicket =
  /@pinbench\/1\/([\w.-]+)\/(waiting|measuring)\/(\d{1,10})-\d\/(\d+)\/(\d{1,15})\/([a-z]{1,12})@*$/;

/** The kernel reports its boot time in whole seconds. */
const bootSlackMs = 2000;

/**
 * Tickets of all other processes of this machine; null if the kernel does not list them. Any program can bind any name,
 * so a ticket counts only if its process exists and started before the ticket's time. Tickets from another process
 * namespace, such as a container's, cannot be checked and do not count.
 */
export function listTickets(root = "/"): ListedTicket[] | null {
  const text = readText(root, "proc/net/unix");
  if (text === null) return null;
  const own = pidNamespace(root);
  const bootMs = 1000 * Number(/^btime (\d+)$/m.exec(readText(root, "proc/stat") ?? "")?.[1]);
  return text.split("\n").flatMap((line) => {
    const match = listedTicket.exec(line);
    if (match === null) return [];
    const [, device, state, pidText, namespace, since, command] = match;
    const pid = Number(pidText);
    const sinceMs = Number(since);
    const stat = namespace === own && pid !== process.pid ? readProcessStat(pid, root) : null;
    if (stat === null || stat.hasEnded) return [];
    if (!(bootMs + Number(stat.started) * msPerTick <= sinceMs + bootSlackMs)) return [];
    const isWaiting = state === "waiting";
    return [
      {
        device: device!,
        isWaiting,
        command: command!,
        sinceMs,
        pid,
        place: [sinceMs, pid] as const,
      },
    ];
  });
}

/** The number of this process' namespace of process ids, never 0; null without /proc. */
function pidNamespace(root = "/"): string | null {
  try {
    return /\d+/.exec(readlinkSync(`${root}/proc/self/ns/pid`))?.[0] ?? null;
  } catch {
    return null;
  }
}
