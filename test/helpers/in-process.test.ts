import { afterAll, expect, it } from "vitest";
import { callCli, playRuns } from "./in-process.js";
import { small, temporaryFolder } from "./run-cli.js";

let release = () => {};
afterAll(() => release());

it("a command that hangs after its test gave up affects no other command", async () => {
  playRuns(async function* () {
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    yield* [];
  });
  const [, ...sweep] = small();
  void callCli(["baseline", "main", ...sweep], { cwd: temporaryFolder() });
  await expect.poll(() => process.argv).toContain("main");
});

it("the command after one that hangs has its own folder, arguments and output", async () => {
  const cwd = temporaryFolder();
  const finished = await callCli(["compare", "none", "none"], { cwd });
  expect(finished).toMatchObject({
    exitCode: 5,
    stdout: "",
    stderr: expect.stringMatching(/no baseline none/),
  });
  expect(process.cwd()).not.toBe(cwd);
});

it("two commands of one test run one after the other", async () => {
  const asked = ["fish", "bash"].map((shell) => callCli(["completion", shell]));
  const [fish, bash] = await Promise.all(asked);
  expect(fish!.stdout).toContain("complete -c pinbench");
  expect(bash!.stdout).toMatch(/^# .*\n[\s\S]*COMPREPLY/);
});
