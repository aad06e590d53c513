import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Interruption } from "../../src/cli/interruption.js";

const watcher = vi.hoisted(() => ({ isThere: false }));
vi.mock("../../src/cli/deadline.js", () => ({
  get isWatched() {
    return watcher.isThere;
  },
}));

type Event = NodeJS.Signals | "disconnect";

/** The listeners to signals, which are not really sent, and the signals by which the process would have ended. */
const heard = new Map<Event, (name: string) => void>();
let kills: unknown[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  const { on } = process;
  const isOurs = (name: unknown) => ["SIGINT", "SIGTERM", "SIGHUP", "disconnect"].includes(String(name));
  vi.spyOn(process, "on").mockImplementation(((name: Event, listener: () => void) => {
    if (!isOurs(name)) return on.call(process, name, listener);
    heard.set(name, listener);
    return process;
  }) as typeof process.on);
  vi.spyOn(process, "off").mockImplementation(((name: Event) => {
    heard.delete(name);
    return process;
  }) as typeof process.off);
  kills = [];
  vi.spyOn(process, "kill").mockImplementation((_, signal) => {
    kills.push(signal);
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  process.channel?.ref();
  heard.clear();
  watcher.isThere = false;
});

/** Sends signals; a number is the pause before the next one, in milliseconds. */
function send(...events: (Event | number)[]): void {
  for (const event of events) {
    if (typeof event === "number") vi.advanceTimersByTime(event);
    else heard.get(event)?.(event);
  }
}

describe("a command that is interrupted", () => {
  it.each<[Event, boolean, number]>([
    ["SIGHUP", false, 129],
    ["SIGINT", false, 130],
    ["SIGTERM", false, 143],
    ["disconnect", false, 130],
    ["SIGINT", true, 130],
    ["disconnect", true, 4],
  ])("by %s, and watched by --deadline: %j, exits with %i", (event, isWatched, exitCode) => {
    watcher.isThere = isWatched;
    const interruption = new Interruption();
    expect(interruption).toMatchObject({ exitCode: null, signal: { aborted: false } });
    send(event, 10, event === "disconnect" ? "SIGTERM" : "disconnect");
    expect(interruption).toMatchObject({ exitCode, signal: { aborted: true } });
  });

  it.each<[string, (Event | number)[], string[]]>([
    ["one Ctrl-C that the terminal and npm send does not kill", ["SIGINT", 249, "SIGINT"], []],
    ["a second Ctrl-C kills", ["SIGINT", 250, "SIGINT"], ["SIGINT"]],
    ["a closing terminal for which each shell sends one does not kill", ["SIGHUP", 1000, "SIGHUP"], []],
    ["a closing terminal after Ctrl-C does not kill", ["SIGINT", 500, "SIGHUP"], []],
    ["SIGTERM after a closing terminal kills", ["SIGHUP", 500, "SIGTERM"], ["SIGTERM"]],
    ["a third signal after two quick ones kills", ["SIGINT", 100, "SIGINT", 150, "SIGINT"], ["SIGINT"]],
    ["the end of its parent does not kill within 2 s", ["disconnect", 1999], []],
    ["the end of its parent kills after 2 s", ["disconnect", 2000], ["SIGKILL"]],
  ])("is killed by a repeated signal, but not by an echo of the first: %s", (_, events, ends) => {
    new Interruption();
    send(...events);
    expect(kills).toEqual(ends);
  });

  it("listens to no signal after its end, but still ignores the echo of one Ctrl-C", () => {
    new Interruption().dispose();
    expect([...heard.keys()]).toEqual([]);
    const interruption = new Interruption();
    send("SIGINT");
    interruption.dispose();
    send(100, "SIGINT");
    expect(kills).toEqual([]);
    expect(vi.getTimerCount()).toBe(1);
  });

  it("stops waiting for unfinished work, and is killed after 2 s if that keeps it running", async () => {
    const interruption = new Interruption();
    const hanging = interruption.unlessAborted(new Promise(() => undefined));
    expect(await interruption.unlessAborted(Promise.resolve("done"))).toBe("done");
    send("SIGINT");
    expect(await hanging).toBeNull();
    send(1999);
    expect(kills).toEqual([]);
    send(1);
    expect(kills).toEqual(["SIGKILL"]);
  });
});
