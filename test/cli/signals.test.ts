import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Interruption } from "../../src/cli/interruption.js";

const watcher = vi.hoisted(() => ({ isThere: false }));
vi.mock("../../src/cli/deadline.js", () => ({
  get isWatched() {
    return watcher.isThere;
  },
}));

type Event = NodeJS.Signals | "disconnect";

/** What listens to this process, which gets no real signal, and what would have ended it. */
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

/** Sends signals, each so many milliseconds after the one before. */
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
  ])("by %s exits with that signal's code, watched by a deadline %j: %i", (event, isWatched, exitCode) => {
    watcher.isThere = isWatched;
    const interruption = new Interruption();
    expect(interruption).toMatchObject({ exitCode: null, signal: { aborted: false } });
    send(event, 10, event === "disconnect" ? "SIGTERM" : "disconnect");
    expect(interruption).toMatchObject({ exitCode, signal: { aborted: true } });
  });

  it.each<[string, (Event | number)[], string[]]>([
    ["one Ctrl-C, which the terminal and npm send", ["SIGINT", 249, "SIGINT"], []],
    ["a second Ctrl-C", ["SIGINT", 250, "SIGINT"], ["SIGINT"]],
    ["a terminal that closes, for which each shell sends one", ["SIGHUP", 1000, "SIGHUP"], []],
    ["a closing terminal after Ctrl-C", ["SIGINT", 500, "SIGHUP"], []],
    ["a request to end after a closing terminal", ["SIGHUP", 500, "SIGTERM"], ["SIGTERM"]],
    ["a third signal after two quick ones", ["SIGINT", 100, "SIGINT", 150, "SIGINT"], ["SIGINT"]],
    ["the end of its starter, 2 s later", ["disconnect", 1999], []],
    ["the end of its starter", ["disconnect", 2000], ["SIGKILL"]],
  ])("tells a repeated signal from an echo of the first: %s", (_, events, ends) => {
    new Interruption();
    send(...events);
    expect(kills).toEqual(ends);
  });

  it("still ignores the second half of one Ctrl-C after its end, and listens to nothing without a signal", () => {
    new Interruption().dispose();
    expect([...heard.keys()]).toEqual([]);
    const interruption = new Interruption();
    send("SIGINT");
    interruption.dispose();
    send(100, "SIGINT");
    expect(kills).toEqual([]);
    expect(vi.getTimerCount()).toBe(1);
  });

  it("does not wait for unfinished work, and is killed 2 s later if that keeps it alive", async () => {
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
