import { setTimeout as sleep } from "node:timers/promises";
import { PinbenchError } from "../errors.js";
import {
  describeOther,
  mostOthers,
  type OtherProgram,
  type SharingRecord,
} from "../results/other-programs.js";
import { formatDuration } from "../settings/units.js";
import { type HeldName, listTickets, putUpTicket, type SeenTicket, takeTurn } from "./device-tickets.js";
import { readText } from "./files.js";
import { readProcessStat } from "./processes.js";

/** A process with a context on a device, as NVML lists it. */
interface DeviceProcess {
  pid: number;
  deviceMemoryBytes: number | null;
}

/** A device that other processes may use as well. */
export interface SharedDevice {
  ordinal: number;
  /** Its name for all processes of this machine. */
  key: string;
  /** What NVML tells of it; null where no program but pinbench can use it. */
  nvml: {
    readProcesses(): Promise<DeviceProcess[] | null>;
    readActivity(): Promise<{
      computePercent: number | null;
      toDeviceBytesPerSecond: number | null;
      fromDeviceBytesPerSecond: number | null;
    } | null>;
  } | null;
}

/** Who uses the devices, and as what. */
export interface SharingOptions {
  /** Pinbench's command, of lower-case letters: "run". */
  command: string;
  /** The process of pinbench that this one measures for, which has the tickets; null for one of its own. */
  ownerPid: number | null;
}

/** How long to wait for the devices, and whom to tell for whom. */
export interface WaitOptions {
  signal: AbortSignal;
  /** Null waits without end. */
  mostNs: number | null;
  /** Called with a sentence whenever it waits for others than before. */
  onWait: (text: string) => void;
}

/** How often a process that waits looks whether its turn has come. */
const pollMs = 200;

/** Looking more often than this would cost time between short rounds. */
const leastBetweenLooksMs = 1000;

/** Below this share of time with a kernel a device is idle. */
const idleComputePercent = 5;

/** NVML's sampling period is a second at most: what was busy before that no longer shows. */
const samplingPeriodMs = 1200;

interface Watched {
  device: SharedDevice;
  record: SharingRecord;
  /** NVML has listed this process, by the id that it has here. */
  seesItself: boolean;
}

/**
 * This process' use of some devices, and who else uses them: one announces itself, looks before it opens a device, from
 * time to time while it measures, and at the end.
 */
export class DeviceSharing {
  readonly #watched: Watched[];
  readonly #options: SharingOptions;
  #tickets: HeldName[] = [];
  #canAnnounce = true;
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(devices: readonly SharedDevice[], options: SharingOptions) {
    this.#options = options;
    this.#watched = devices.map((device) => ({
      device,
      record: { device: device.ordinal, others: [], activityBefore: null, unseen: [] },
      seesItself: false,
    }));
  }

  /**
   * Says that this process measures on the devices now, whoever else does, and looks who. Nothing is opened on them yet.
   * A process that measures for another one only looks.
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
   * As begin(), once nobody else uses the devices: in the order in which processes came to wait for them. False where
   * the signal was aborted before. Rejects with a PinbenchError where it took longer than allowed.
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
    for (let told = ""; ; ) {
      if (signal.aborted) {
        await this.release();
        return false;
      }
      const ahead = await this.#whoIsAhead(place);
      if (ahead === null && (await this.#goAhead(place))) break;
      const text = ahead ?? "another pinbench is about to begin";
      if (mostNs !== null && (performance.now() - startedAt) * 1e6 > mostNs) {
        await this.release();
        throw new PinbenchError(
          "unavailable",
          `${this.#names()} did not become free within ${formatDuration(mostNs)}: ${text}.`,
          { hint: "Wait longer, or measure without --wait: the result then lists the other programs." },
        );
      }
      if (text !== told) onWait(`waiting for ${this.#names(false)}: ${text}.`);
      told = text;
      await sleep(pollMs, undefined, { signal }).catch(() => undefined);
    }
    await this.begin();
    return true;
  }

  /**
   * Looks again at those of the devices that this process, or one of `ownPids` that measures for it, has open now, by
   * their ordinals. At most once a second, but for the last time.
   */
  async look(open: readonly number[], ownPids: readonly number[], isLast = false): Promise<void> {
    const nowMs = performance.now();
    if (!isLast && nowMs - this.#lookedMs < leastBetweenLooksMs) return;
    this.#lookedMs = nowMs;
    const watched = this.#watched.filter(({ device }) => open.includes(device.ordinal));
    this.#lookForPinbench(watched, false);
    for (const one of watched) await this.#lookForPrograms(one, ownPids);
  }

  /** What is known so far, a record a device. */
  get records(): SharingRecord[] {
    return this.#watched.map(({ record }) => structuredClone(record));
  }

  /** Says that this process no longer uses the devices; its end says so too. */
  async release(): Promise<void> {
    const tickets = this.#tickets;
    this.#tickets = [];
    await Promise.all(tickets.map((ticket) => ticket.release()));
  }

  async #announce(isWaiting: boolean, sinceMs: number): Promise<void> {
    const { command } = this.#options;
    const old = this.#tickets;
    try {
      // One after the other, so that those that are there can be taken down again.
      this.#tickets = [];
      for (const { device } of this.#watched) {
        this.#tickets.push(await putUpTicket({ device: device.key, isWaiting, command, sinceMs }));
      }
    } catch {
      this.#canAnnounce = false;
    }
    await Promise.all(old.map((ticket) => ticket.release()));
  }

  /** True once this process has said that it measures, before any other one that waits could. */
  async #goAhead(place: SeenTicket["place"]): Promise<boolean> {
    const turn = this.#canAnnounce ? await takeTurn().catch(() => undefined) : undefined;
    if (turn === null) return false;
    try {
      if ((await this.#whoIsAhead(place)) !== null) return false;
      await this.#announce(false, Date.now());
      return true;
    } finally {
      await turn?.release();
    }
  }

  /** In words; null where it is this process' turn. */
  async #whoIsAhead(place: SeenTicket["place"]): Promise<string | null> {
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

  /** Whether this process and other ones of pinbench know of each other. */
  #canSeePinbench(tickets: readonly SeenTicket[] | null): boolean {
    return this.#canAnnounce && tickets !== null;
  }

  #lookForPinbench(watched: readonly Watched[], isBefore: boolean): void {
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

  async #lookForPrograms(watched: Watched, ownPids: readonly number[]): Promise<void> {
    const listed = await watched.device.nvml?.readProcesses();
    if (listed == null) return;
    watched.seesItself ||= listed.some(({ pid }) => pid === process.pid);
    if (!watched.seesItself) {
      // This process has a context: the list is empty, or has ids of another namespace.
      markUnseen(watched, "programs");
      // Those that were there before are then not the processes that have these ids here.
      watched.record.others = watched.record.others.map((other) =>
        other.kind === "program" ? { ...other, pid: null, name: null } : other,
      );
      return;
    }
    for (const program of this.#strangers(watched, listed, ownPids)) keep(watched, program, false);
  }

  /** The programs that have the device open, where this process has not; null where NVML does not tell. */
  async #programs(watched: Watched): Promise<OtherProgram[] | null> {
    const { nvml } = watched.device;
    if (nvml === null) return [];
    const listed = await nvml.readProcesses();
    return listed && this.#strangers(watched, listed, []);
  }

  /**
   * Those that are neither this run's nor another pinbench's: that one is known by the ticket with which it measures, and
   * its processes by being its children. One that waits has no device open yet, and nobody must hide behind its name.
   */
  #strangers(watched: Watched, listed: readonly DeviceProcess[], ownPids: readonly number[]): OtherProgram[] {
    const { ownerPid } = this.#options;
    const own = new Set([process.pid, ...ownPids]);
    const measuring = ticketsOf(watched, listTickets()).filter(({ isWaiting }) => !isWaiting);
    const families = new Set(measuring.map(({ pid }) => pid));
    if (ownerPid !== null) families.add(ownerPid);
    return listed
      .filter(({ pid }) => !own.has(pid) && !lineOf(pid).some((one) => families.has(one)))
      .map(({ pid, deviceMemoryBytes }) => otherProgram(pid, deviceMemoryBytes));
  }

  /** What a process of this series did a moment ago must pass from NVML's mean before it counts as another's. */
  async #readActivity({ device, record }: Watched): Promise<void> {
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

function ticketsOf({ device }: Watched, tickets: readonly SeenTicket[] | null): SeenTicket[] {
  return (tickets ?? []).filter((ticket) => ticket.device === device.key);
}

function isBefore(a: SeenTicket["place"], b: SeenTicket["place"]): boolean {
  return a[0] === b[0] ? a[1] < b[1] : a[0] < b[0];
}

function otherPinbench({ pid, command, sinceMs }: SeenTicket): OtherProgram {
  // Another program may have put up any figure.
  const isTime = sinceMs > 0 && sinceMs <= Date.now();
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
  // Where there is no such process here, the id is that of another namespace.
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

/** Once a program. Another pinbench is known by its ticket before it opens the device, and is no other program then. */
function keep({ record }: Watched, other: OtherProgram, wasThereBefore: boolean): void {
  const isKnown = record.others.some(
    ({ pid, kind, since }) =>
      pid === other.pid && (pid !== null || (kind === other.kind && since === other.since)),
  );
  if (isKnown || record.others.length >= mostOthers) return;
  record.others.push({ ...other, wasThereBefore });
}

function markUnseen({ record }: Watched, what: SharingRecord["unseen"][number]): void {
  if (!record.unseen.includes(what)) record.unseen.push(what);
}

/** A process and those that it comes from; a worker process of pinbench is two or three steps from whoever was called. */
function lineOf(pid: number): number[] {
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
