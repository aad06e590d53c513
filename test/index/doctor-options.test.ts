import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { diagnoseMachine } from "../../src/doctor/diagnose-machine.js";
import { doctor } from "../../src/index.js";
import { temporaryFolder } from "../helpers/run-cli.js";

vi.mock("../../src/doctor/diagnose-machine.js", { spy: true });
afterEach(() => {
  vi.resetAllMocks();
});

const emulated = { backend: "emulated", llc: "1MiB" } as const;

/** What doctor() of the library asks for, which is not examined. */
async function asked(options: Parameters<typeof doctor>[0]) {
  vi.mocked(diagnoseMachine).mockResolvedValueOnce({} as never);
  await doctor({ ...emulated, ...options });
  return vi.mocked(diagnoseMachine).mock.lastCall![0];
}

it.each([true, false])("doctor() of the library examines quickly if asked to: %j", async (quick) => {
  expect(await asked({ quick })).toMatchObject({ isQuick: quick, reference: null });
});

it("doctor() of the library compares with the reference of the site", async () => {
  const path = join(temporaryFolder(), "site.json");
  const shares = { h2d: 0.8, d2h: 0.7 };
  const listed = [{ gpu: "our GPU", alone: shares, tolerance: 0.05, sources: ["day one"], together: null }];
  writeFileSync(path, JSON.stringify({ listed }));
  expect(await asked({ reference: path })).toMatchObject({ isQuick: false, reference: { listed } });
});

it("doctor() of the library names a reference that cannot be read, and examines nothing", async () => {
  const path = join(temporaryFolder(), "none.json");
  await expect(doctor({ ...emulated, reference: path })).rejects.toMatchObject({
    kind: "usage",
    message: expect.stringContaining(path),
  });
  expect(diagnoseMachine).not.toHaveBeenCalled();
});
