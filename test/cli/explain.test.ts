import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { explanationSchema } from "../../src/explain/explanation.js";
import { questions } from "../../src/explain/questions.js";
import { callCli } from "../helpers/in-process.js";
import { untilInSlowCopy } from "../helpers/processes.js";
import { copyFaults, emulatedFaults, runCli, startCli, temporaryFolder } from "../helpers/run-cli.js";

const explain = (...args: string[]) => ["explain", "--backend", "emulated", ...args];

describe("pinbench explain without a question", () => {
  it("lists all questions, and measures nothing", async () => {
    const { exitCode, stdout, stderr } = await callCli(["explain"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    for (const { name, title } of questions) {
      expect(stdout.replaceAll(/\s+/g, " ")).toContain(`${name} ${title}`);
    }
  });
});

describe("pinbench explain QUESTION", () => {
  it("answers the question on stdout and in files", async () => {
    const cwd = temporaryFolder();
    const args = explain("too-small", ...["e.json", "e.md", "e.html"].flatMap((name) => ["--output", name]));
    const { exitCode, stdout, stderr } = await callCli(args, { cwd });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const document = explanationSchema.parse(JSON.parse(readFileSync(join(cwd, "e.json"), "utf8")));
    const [answer] = document.answers;
    expect(answer).toMatchObject({ question: "too-small", failure: null });
    expect(answer!.figures.length).toBeGreaterThan(4);
    for (const { interval, value } of answer!.figures.filter(({ samples }) => samples > 0)) {
      expect(interval!.low).toBeLessThanOrEqual(value);
      expect(interval!.high).toBeGreaterThanOrEqual(value);
    }
    expect(stdout).toContain(answer!.title);
    const markdown = readFileSync(join(cwd, "e.md"), "utf8");
    expect(markdown).toMatch(/^## pinbench explain: What pinned memory does: /);
    expect(markdown).toContain(answer!.claim);
    const html = readFileSync(join(cwd, "e.html"), "utf8");
    expect(html).toMatch(/^<!doctype html>/);
    expect(html).toContain(`too-small: ${answer!.title}</h4>`);
  });

  it("exits with 4 if a question failed, and goes on with the others", async () => {
    const env = emulatedFaults("cuMemHostAlloc:2");
    const { exitCode, stdout } = await runCli(explain("too-small", "several-gpus", "--json"), { env });
    expect(exitCode).toBe(4);
    const { answers } = explanationSchema.parse(JSON.parse(stdout));
    expect(answers).toMatchObject([
      { verdict: "inconclusive", failure: expect.stringContaining("CUDA_ERROR_OUT_OF_MEMORY") },
      { verdict: "not run", failure: null },
    ]);
  });

  it("exits with 7 if data came back wrong for a question", async () => {
    const env = copyFaults("flip", "h2d");
    const { exitCode, stdout } = await runCli(explain("too-small", "several-gpus", "--json"), { env });
    expect(exitCode).toBe(7);
    const { answers } = explanationSchema.parse(JSON.parse(stdout));
    expect(answers).toMatchObject([
      { failure: expect.stringContaining("ata came back wrong"), hasWrongData: true },
      { failure: null, hasWrongData: false },
    ]);
  });

  it("exits with 130 on Ctrl-C, prints nothing on stdout and writes no file", async () => {
    const cwd = temporaryFolder();
    const env = { PINBENCH_EMULATED_LINK: "1e7" };
    const { child, finished } = startCli(explain("too-small", "--output", "e.json"), { cwd, env });
    // The first copy takes more than a second.
    await untilInSlowCopy(child.pid!);
    child.kill("SIGINT");
    const { exitCode, stdout, stderr } = await finished;
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: "" });
    expect(stderr).toContain("nothing was written to e.json");
  });

  it("keeps finished answers on Ctrl-C, and prints how many there are", async () => {
    const cwd = temporaryFolder();
    // The first question gets no context; each copy of the second one takes seconds.
    const fault = emulatedFaults("cuDevicePrimaryCtxRetain:2:nth=1");
    const env = { ...fault, PINBENCH_EMULATED_LINK: "2e5" };
    const args = explain("too-small", "low-latency", "--output", "e.json");
    const { child, finished } = startCli(args, { cwd, env });
    await untilInSlowCopy(child.pid!);
    child.kill("SIGINT");
    const { stdout } = await finished;
    expect(stdout).toContain("interrupted: 1 of 2 questions answered");
    const { answers } = explanationSchema.parse(JSON.parse(readFileSync(join(cwd, "e.json"), "utf8")));
    expect(answers.map(({ question }) => question)).toEqual(["too-small"]);
  });
});
