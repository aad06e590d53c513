import { expect, it, onTestFinished } from "vitest";
import { openBackend } from "../../src/native/backend.js";
import { loadAddon } from "../../src/native/load.js";

it("a pool's threads are not its pieces", async () => {
  const { driver } = await openBackend("emulated", loadAddon());
  const session = await driver.openSession({ device: 0, cpus: [0], threads: 2, numaNode: null, seed: 3 });
  onTestFinished(() => session.close());
  const pool = { way: "register-huge", bytes: 1 << 20, pieces: 1 } as const;
  await (await session.obtainPool({ ...pool, threads: 2 })).release();
  await expect(session.obtainPool({ ...pool, threads: 10_000 })).rejects.toThrow("thread");
});
