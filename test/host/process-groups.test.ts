import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { signalGroup } from "../../src/host/processes.js";
import { packageRoot } from "../../src/package-facts.js";

/** What a guard has to end that was told these lines, in its own process. */
function groupsAfter(told: string): unknown {
  const compiled = pathToFileURL(join(packageRoot, "dist/host/processes.js")).href;
  const program = `import { untilKilled } from "${compiled}"; console.log(JSON.stringify(await untilKilled()));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    input: told,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

describe("a guard", () => {
  it("ends the groups it was given, once its starter is gone", () => {
    expect(groupsAfter("12\n345\n")).toEqual([12, 345]);
  });

  it("leaves alone those that have ended, whose numbers others may have", () => {
    expect(groupsAfter("12\n345\nended 12\n")).toEqual([345]);
    expect(groupsAfter("12\nended 12\n12\n")).toEqual([12]);
  });

  it("has nothing to do if it was dismissed", () => {
    expect(groupsAfter("12\n345\ndone\n")).toBeNull();
  });
});

it("a signal is for a whole group, which may be gone", () => {
  const kill = vi.spyOn(process, "kill").mockImplementation((group) => {
    if (group === -8) throw new Error("no such process");
    return true;
  });
  onTestFinished(() => kill.mockRestore());
  expect([signalGroup(7, "SIGTERM"), signalGroup(8, 0)]).toEqual([true, false]);
  expect(kill.mock.calls).toEqual([
    [-7, "SIGTERM"],
    [-8, 0],
  ]);
});
