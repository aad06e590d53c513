import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { withFileLock } from "../../src/results/files/file-lock.js";
import { temporaryFolder } from "../helpers/run-cli.js";

const module = fileURLToPath(new URL("../../dist/results/files/file-lock.js", import.meta.url));
const newLock = () => join(temporaryFolder(), "lock");
const ofAnotherMachine = "node-7 boot pid:[1] 1 1";

/** A process that holds a lock until it gets a line on stdin. */
async function holder(lock: string) {
  const program = `
    const { withFileLock } = await import(${JSON.stringify(module)});
    await withFileLock(${JSON.stringify(lock)}, async () => {
      process.stdout.write("held\\n");
      await new Promise((resolve) => process.stdin.once("data", resolve));
    });
    process.stdin.destroy();`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

/** A clock for locks that advances only by `pass()`. */
function stoppedClock() {
  let nowMs = performance.now();
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  onTestFinished(() => void vi.restoreAllMocks());
  return {
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe("a lock", () => {
  it("of a living process is not taken away, though the process is stopped for long", async () => {
    const lock = newLock();
    const clock = stoppedClock();
    const child = await holder(lock);
    child.kill("SIGSTOP");
    let isTaken = false;
    const waiting = withFileLock(lock, async () => {
      isTaken = true;
    });
    // Shorter than the time after which the wait fails.
    for (let waits = 0; waits < 8; ++waits) {
      await sleep(60);
      clock.pass(5000);
    }
    await sleep(60);
    expect(isTaken).toBe(false);
    child.kill("SIGCONT");
    child.stdin.write("\n");
    await waiting;
    expect(isTaken).toBe(true);
  });

  it("that a living process does not let go for a minute is an error, which names its holder", async () => {
    const lock = newLock();
    const clock = stoppedClock();
    await holder(lock);
    let isRefused = false;
    const waiting = withFileLock(lock, async () => "done").finally(() => {
      isRefused = true;
    });
    const refused = expect(waiting).rejects.toMatchObject({
      message: `another process holds ${lock} ("${readFileSync(lock, "utf8")}").`,
    });
    while (!isRefused) {
      clock.pass(5000);
      await sleep(20);
    }
    await refused;
    expect(existsSync(lock)).toBe(true);
  });

  it("of a process that has ended is taken away at once, though another has its id by now", async () => {
    const lock = newLock();
    const child = await holder(lock);
    const text = readFileSync(lock, "utf8");
    // This process has the id of the ended one, and another start time.
    const ofEarlier = text.replace(` ${child.pid} `, ` ${process.pid} `);
    expect(ofEarlier).not.toBe(text);
    child.stdin.write("\n");
    await once(child, "close");
    writeFileSync(lock, ofEarlier);
    expect(await withFileLock(lock, async () => "done")).toBe("done");
    expect(existsSync(lock)).toBe(false);
  });

  it("of a process that was killed and that nobody has waited for is taken away at once", async () => {
    const lock = newLock();
    // The shell becomes a program that does not wait for its child.
    const shell = spawn("sh", ["-c", "sleep 60 & echo $!; exec sleep 60"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void shell.kill("SIGKILL"));
    const [printed] = (await once(shell.stdout, "data")) as [Buffer];
    const pid = Number(String(printed).trim());
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const startTime = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]!;
    const ownText = await withFileLock(lock, async () => readFileSync(lock, "utf8"));
    const ofVictim = ownText.replace(/ \d+ \d+$/, ` ${pid} ${startTime}`);
    process.kill(pid, "SIGKILL");
    writeFileSync(lock, ofVictim);
    expect(await withFileLock(lock, async () => "done")).toBe("done");
  });

  it("that another machine takes just after it was read as stale is left to that machine", async () => {
    const lock = newLock();
    const own = await withFileLock(lock, async () => readFileSync(lock, "utf8"));
    writeFileSync(lock, own);
    // The lock's process is gone. At this moment another machine takes the lock.
    vi.spyOn(process, "kill").mockImplementationOnce(() => {
      rmSync(lock);
      writeFileSync(lock, ofAnotherMachine);
      throw Object.assign(new Error("no such process"), { code: "ESRCH" });
    });
    onTestFinished(() => void vi.restoreAllMocks());
    let isTaken = false;
    const waiting = withFileLock(lock, async () => {
      isTaken = true;
    });
    await vi.waitFor(() => expect(process.kill).toHaveBeenCalled());
    await sleep(200);
    expect(isTaken).toBe(false);
    expect(readdirSync(join(lock, ".."))).toEqual(["lock"]);
    expect(readFileSync(lock, "utf8")).toBe(ofAnotherMachine);
    rmSync(lock);
    await waiting;
  });

  it("that is a symbolic link is refused", async () => {
    const lock = newLock();
    symlinkSync("nowhere", lock);
    await expect(withFileLock(lock, async () => "done")).rejects.toMatchObject({
      kind: "output",
      message: expect.stringContaining("it is a symbolic link"),
    });
  });
});
