import { expect, it, vi } from "vitest";
import type { ResultDocument } from "../../src/results/schema.js";
import { baselineAt, certainly, filesIn } from "../helpers/baseline-folder.js";
import { markName, measuring, nextMark } from "../helpers/processes.js";
import { restingLink, startCli } from "../helpers/run-cli.js";

/** A baseline whose check never converges, and would take an hour. */
function lasting(document: ResultDocument): ResultDocument {
  const { plan } = document;
  const settings = { ...plan!.settings!, samplesPerCell: null, budgetNs: 3600e9, precision: 1e-7 };
  return { ...document, plan: { ...plan!, settings } };
}

it.each([
  ["interrupted by SIGINT", "SIGINT", 1, 130],
  // Ctrl-C reaches all of its processes.
  ["interrupted by Ctrl-C", "SIGINT", -1, 130],
  ["killed", "SIGKILL", 1, null],
] as const)("a check that is %s leaves no process and keeps its baseline", async (_, signal, group, code) => {
  const baseline = await baselineAt(certainly.slower, lasting);
  const before = filesIn(baseline);
  const mark = nextMark();
  const args = ["check", "--baseline", baseline, "--update"];
  const env = { ...restingLink, [markName]: mark };
  const { child, finished } = startCli(args, { detached: group === -1, env });
  await vi.waitFor(() => expect(measuring(mark)).toHaveLength(1), { timeout: 50_000, interval: 50 });
  process.kill(group * child.pid!, signal);
  expect(await finished).toMatchObject({ exitCode: code, stdout: "" });
  await vi.waitFor(() => expect(measuring(mark)).toEqual([]), { timeout: 50_000, interval: 50 });
  expect(filesIn(baseline)).toEqual(before);
});
