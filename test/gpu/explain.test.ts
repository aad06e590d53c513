import { describe, expect, it } from "vitest";
import { explanationSchema } from "../../src/explain/explanation.js";
import { runCli } from "../helpers/run-cli.js";

const isEmulated = process.env.PINBENCH_TEST_BACKEND === "emulated";

describe.skipIf(isEmulated)("pinbench explain of a GPU that nobody else uses", () => {
  it("answers all questions in at most 90 s, the known ones as they are known", async () => {
    const { exitCode, stdout } = await runCli(["explain", "--backend", "cuda", "--all", "--json"]);
    const { answers, wallNs, notice } = explanationSchema.parse(JSON.parse(stdout));
    expect(answers.filter(({ failure }) => failure !== null)).toEqual([]);
    expect({ exitCode, notice }).toEqual({ exitCode: 0, notice: null });
    expect(wallNs).toBeLessThan(90e9);
    const verdictOn = (name: string) => answers.find(({ question }) => question === name)?.verdict;
    expect(verdictOn("81-times")).toBe("not here");
    expect(verdictOn("why-pinned")).toBe("true");
    expect(verdictOn("pays-off")).toBe("true");
    expect(verdictOn("too-small")).toBe("true");
  });
});
