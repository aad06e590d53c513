import { setTimeout as sleep } from "node:timers/promises";
import { PinbenchError } from "../errors.js";
import { formatDuration } from "../settings/units.js";
import { type HeldName, type ListedTicket, listTickets, putUpTicket, takeTurn } from "./device-tickets.js";
import { readText } from "./files.js";
import {
  type DeviceProcess,
  describeOther,
  mostOthers,
  type OtherProgram,
  type SharingRecord,
} from "./other-programs.js";
import { readProcessStat } from "./processes.js";

export interface SharedDevice {
  ordinal: number;
  key: string;
  nvml: {
    readProcesses(): Promise<DeviceProcess[] | null>;
    readActivity(): Promise<{
      computePercent: number | null;
      toDeviceBytesPerSecond: number | null;
      fromDeviceBytesPerSecond: number | null;
    } | null>;
  } | null;
}

export interface SharingOptions {
  /** The pinbench command, such as "run". */
  command: string;
  /** The pinbench process that this one measures for, and that holds the tickets; null if this one has its own. */
  ownerPid: number | null;
}

interface WaitOptions {
  signal: AbortSignal;
  /** Null waits without a limit. */
  mostNs: number | null;
  /** Called with a sentence whenever the processes that it waits for change. */
  onWait: (text: string) => void;
}

/** What a caller gives to code that measures: devices, start time, a signal and a listener. */
export interface MeasuringTurn<Prepared> {
  prepared: Prepared;
  /** Finds other users of the devices, for a process that has announced itself; null if there cannot be any. */
  sharing: DeviceSharing | null;
  /** The caller's start, as a date and on the clock of performance.now(). */
  startedAt: Date;
  startedMs: number;
  /** The start of the budget on the same clock: later than the caller's start if it waited for its turn. */
  countedFromMs: number;
  signal: AbortSignal;
  onActivity: (text: string) => void;
}

const pollMs = 200;

/** Shortest interval between looks at other users, so that they cost little time between short rounds. */
const leastBetweenLooksMs = 1000;

/** Below this percentage of time in kernels, a device counts as idle. */
const idleComputePercent = 5;

/** NVML samples over at most a second, so earlier activity no longer shows. */
const samplingPeriodMs = 1200;

/** A turn normally takes milliseconds. After this time its holder is ignored. */
const longestTurnMs = 10_000;

interface WatchedDevice {
  device: SharedDevice;
  record: SharingRecord;
  /** Whether NVML lists this process under its id in this namespace. */
  seesItself: boolean;
}

/**
 * This process' use of devices, and their other users. It announces itself, and looks for others before it opens a
 * device, from time to time while it measures, and at the end.
 */
export class DeviceSharing {
  readonly #watched: WatchedDevice[];
  readonly #options: SharingOptions;
  #tickets: HeldName[] = [];
  #canAnnounce = true;
  #lookedMs = Number.NEGATIVE_INFINITY;
  /** Since when another process has held the turn; null if none does. */
  #turnHeldMs: number | null = null;

  constructor(devices: readonly SharedDevice[], options: SharingOptions) {
    this.#options = options;
    this.#watched = devices.map((device) => ({
      device,
      record: { device: device.ordinal, others: [], activityBefore: null, unseen: [] },
      seesItself: false,
    }));
  }

  /**
   * Announces that this process measures now, even if others do, and looks for them. Call it before opening devices. A
   * process that measures for another one only looks.
   */
  async begin(): Promise<void> {
    if (this.#tickets.length === 0 && this.#options.ownerPid === null)
      await this.#announce(false, Date.now());
    this.#lookForPinbench(this.#watched, true);
    for (const watched of this.#watched) {
      await this.#readActivity(watched);
      const programs = await this.#programs(watched);
      if (programs === null) markUnseen(watched, "programs");
      for (const program of programs ?? []) keep(watched, program, true);
    }
  }

  /**
   * Like begin(), but waits for all others first, in the order in which processes began to wait. Returns false after an
   * abort. Rejects with a PinbenchError after the longest wait.
   */
  async beginInTurn({ signal, mostNs, onWait }: WaitOptions): Promise<boolean> {
    const startedMs = Date.now();
    const startedAt = performance.now();
    await this.#announce(true, startedMs);
    if (!this.#canSeePinbench(listTickets())) {
      onWait(
        "this system hides other programs from pinbench (no abstract sockets, or no /proc): not waiting for them.",
      );
    }
    const place = [startedMs, process.pid] as const;
    for (let reported = ""; ; ) {
      if (signal.aborted) {
        await this.release();
        return false;
      }
      const ahead = await this.#whoIsAhead(place);
      if (ahead !== null) this.#turnHeldMs = null;
      if (ahead === null && (await this.#goAhead(place))) break;
      const text = ahead ?? "another pinbench is about to begin";
      if (mostNs !== null && (performance.now() - startedAt) * 1e6 > mostNs) {
        await this.release();
        throw new PinbenchError(
          "measurement",
          `${this.#names()} did not become free within ${formatDuration(mostNs)}: ${text}.`,
          { hint: "Wait longer, or measure without --wait: the result then lists the other programs." },
        );
      }
      if (text !== reported) onWait(`waiting for ${this.#names(false)}: ${text}.`);
      reported = text;
      await sleep(pollMs, undefined, { signal }).catch(() => undefined);
    }
    await this.begin();
    return true;
  }

  /**
   * Looks again at the devices that this process or its children `ownPids` have open, by ordinal. Does so at most once
   * a second, except for the last time.
   */
  async look(open: readonly number[], ownPids: readonly number[], isLast = false): Promise<void> {
    const nowMs = performance.now();
    if (!isLast && nowMs - this.#lookedMs < leastBetweenLooksMs) return;
    this.#lookedMs = nowMs;
    const watched = this.#watched.filter(({ device }) => open.includes(device.ordinal));
    this.#lookForPinbench(watched, false);
    for (const one of watched) await this.#lookForPrograms(one, ownPids);
  }

  /** The records so far, one per device. */
  get records(): SharingRecord[] {
    return this.#watched.map(({ record }) => structuredClone(record));
  }

  /** Announces the end of use; the end of the process does so too. */
  async release(): Promise<void> {
    const tickets = this.#tickets;
    this.#tickets = [];
    await Promise.all(tickets.map((ticket) => ticket.release()));
  }

  async #announce(isWaiting: boolean, sinceMs: number): Promise<void> {
    const { command } = this.#options;
    const old = this.#tickets;
    try {
      // Sequential, so that earlier tickets can be removed if one fails.
      this.#tickets = [];
      for (const { device } of this.#watched) {
        this.#tickets.push(await putUpTicket({ device: device.key, isWaiting, command, sinceMs }));
      }
    } catch {
      this.#canAnnounce = false;
    }
    await Promise.all(old.map((ticket) => ticket.release()));
  }

  /** True if this process announced measuring before any other waiting one could. */
  async #goAhead(place: ListedTicket["place"]): Promise<boolean> {
    const turn = this.#canAnnounce ? await takeTurn().catch(() => undefined) : undefined;
    const nowMs = performance.now();
    if (turn !== null) this.#turnHeldMs = null;
    else {
      this.#turnHeldMs ??= nowMs;
      if (nowMs - this.#turnHeldMs < longestTurnMs) return false;
    }
    try {
      if ((await this.#whoIsAhead(place)) !== null) return false;
      await this.#announce(false, Date.now());
      return true;
    } finally {
      await turn?.release();
    }
  }

  /** A description of the users ahead of this process; null if it is its turn. */
  async #whoIsAhead(place: ListedTicket["place"]): Promise<string | null> {
    const texts: string[] = [];
    const tickets = listTickets();
    for (const watched of this.#watched) {
      const ahead = ticketsOf(watched, tickets).filter(
        (ticket) => !ticket.isWaiting || isBefore(ticket.place, place),
      );
      texts.push(
        ...ahead.map((ticket) => {
          const doing = ticket.isWaiting ? "waits for it as well" : "measures on it";
          return `${describeOther(otherPinbench(ticket))}${stoppedNote(ticket.pid)} ${doing}`;
        }),
      );
      const programs = (await this.#programs(watched)) ?? [];
      texts.push(
        ...programs.map((program) => `${describeOther(program)}${stoppedNote(program.pid)} has it open`),
      );
    }
    if (texts.length === 0) return null;
    const shown = [...new Set(texts)];
    const more = shown.length > 3 ? [`and ${shown.length - 3} more`] : [];
    return [...shown.slice(0, 3), ...more].join("; ");
  }

  #names(isStart = true): string {
    const ordinals = this.#watched.map(({ device }) => device.ordinal);
    const text = `device${ordinals.length === 1 ? "" : "s"} ${ordinals.join(", ")}`;
    return isStart ? `D${text.slice(1)}` : text;
  }

  /** Whether pinbench processes can see each other. */
  #canSeePinbench(tickets: readonly ListedTicket[] | null): boolean {
    return this.#canAnnounce && tickets !== null;
  }

  #lookForPinbench(watched: readonly WatchedDevice[], isBefore: boolean): void {
    const { ownerPid } = this.#options;
    const tickets = listTickets();
    for (const one of watched) {
      if (!this.#canSeePinbench(tickets)) markUnseen(one, "pinbench");
      for (const ticket of ticketsOf(one, tickets)) {
        const isOwners = ownerPid !== null && ticket.pid === ownerPid;
        if (!ticket.isWaiting && !isOwners) keep(one, otherPinbench(ticket), isBefore);
      }
    }
  }

  async #lookForPrograms(watched: WatchedDevice, ownPids: readonly number[]): Promise<void> {
    const listed = await watched.device.nvml?.readProcesses();
    if (listed == null) return;
    watched.seesItself ||= listed.some(({ pid }) => pid === process.pid);
    if (!watched.seesItself) {
      // This process has a context, so an empty list, or one with ids of another namespace, is wrong.
      markUnseen(watched, "programs");
      // Ids in earlier lists were then not of processes here either.
      watched.record.others = watched.record.others.map((other) =>
        other.kind === "program" ? { ...other, pid: null, name: null } : other,
      );
      return;
    }
    for (const program of this.#strangers(watched, listed, ownPids)) keep(watched, program, false);
  }

  /** Other programs that have the device open; null if NVML does not report them. */
  async #programs(watched: WatchedDevice): Promise<OtherProgram[] | null> {
    const { nvml } = watched.device;
    if (nvml === null) return [];
    const listed = await nvml.readProcesses();
    return listed && this.#strangers(watched, listed, []);
  }

  /**
   * Programs that belong neither to this run nor to another pinbench. Another pinbench has a ticket while it measures,
   * and its processes are its children. A waiting pinbench has no device open yet, so it cannot cover for others.
   */
  #strangers(
    watched: WatchedDevice,
    listed: readonly DeviceProcess[],
    ownPids: readonly number[],
  ): OtherProgram[] {
    const { ownerPid } = this.#options;
    const own = new Set([process.pid, ...ownPids]);
    const measuring = ticketsOf(watched, listTickets()).filter(({ isWaiting }) => !isWaiting);
    const families = new Set(measuring.map(({ pid }) => pid));
    if (ownerPid !== null) families.add(ownerPid);
    return listed
      .filter(({ pid }) => !own.has(pid) && !withAncestors(pid).some((one) => families.has(one)))
      .map(({ pid, deviceMemoryBytes }) => otherProgram(pid, deviceMemoryBytes));
  }

  /** Waits up to a sampling period for own activity to leave NVML's average; the rest counts as others'. */
  async #readActivity({ device, record }: WatchedDevice): Promise<void> {
    const startedMs = performance.now();
    for (;;) {
      const activity = (await device.nvml?.readActivity()) ?? null;
      const { computePercent, toDeviceBytesPerSecond, fromDeviceBytesPerSecond } = activity ?? {};
      record.activityBefore = activity && {
        computeShare: computePercent == null ? null : Math.min(1, computePercent / 100),
        toDeviceGBps: toDeviceBytesPerSecond == null ? null : toDeviceBytesPerSecond / 1e9,
        fromDeviceGBps: fromDeviceBytesPerSecond == null ? null : fromDeviceBytesPerSecond / 1e9,
      };
      if ((computePercent ?? 0) < idleComputePercent) return;
      if (performance.now() - startedMs > samplingPeriodMs) return;
      await sleep(pollMs);
    }
  }
}

function ticketsOf({ device }: WatchedDevice, tickets: readonly ListedTicket[] | null): ListedTicket[] {
  return (tickets ?? []).filter((ticket) => ticket.device === device.key);
}

function isBefore(a: ListedTicket["place"], b: ListedTicket["place"]): boolean {
  return a[0] === b[0] ? a[1] < b[1] : a[0] < b[0];
}

function otherPinbench({ pid, command, sinceMs }: ListedTicket): OtherProgram {
  // Any program can publish a time in the future, or one that no document can hold.
  const isTime = sinceMs <= Date.now();
  return {
    kind: "pinbench",
    pid,
    name: command,
    since: isTime ? new Date(sinceMs).toISOString() : null,
    deviceMemoryBytes: null,
    wasThereBefore: true,
  };
}

function otherProgram(pid: number, deviceMemoryBytes: number | null): OtherProgram {
  // If no such process exists here, the id belongs to another namespace.
  const name = readText("/", `proc/${pid}/comm`);
  return {
    kind: "program",
    pid: name === null ? null : pid,
    name,
    since: null,
    deviceMemoryBytes,
    wasThereBefore: true,
  };
}

/** Records up to 16 programs, each id once: NVML never lists a pinbench before it has announced itself. */
function keep({ record }: WatchedDevice, other: OtherProgram, wasThereBefore: boolean): void {
  const isKnown = record.others.some(
    ({ pid, kind, since }) =>
      pid === other.pid && (pid !== null || (kind === other.kind && since === other.since)),
  );
  if (isKnown || record.others.length >= mostOthers) return;
  record.others.push({ ...other, wasThereBefore });
}

function markUnseen({ record }: WatchedDevice, what: SharingRecord["unseen"][number]): void {
  if (!record.unseen.includes(what)) record.unseen.push(what);
}

/** A process and its ancestors, up to four. A worker process is two or three levels below the command. */
function withAncestors(pid: number): number[] {
  const line = [pid];
  while (line.length < 5) {
    const parent = readProcessStat(line.at(-1)!)?.parent ?? 0;
    if (parent <= 1) break;
    line.push(parent);
  }
  return line;
}

function stoppedNote(pid: number | null): string {
  return pid !== null && readProcessStat(pid)?.isStopped ? `, which is stopped (kill -CONT ${pid}),` : "";
}
