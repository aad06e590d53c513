import { randomUUID } from "node:crypto";
import { noConfig } from "../cli/config.js";
import { preparePlan } from "../cli/prepare-plan.js";
import { runPlan } from "../measure/run.js";
import { packageVersion } from "../package-facts.js";
import type { ResultDocument } from "../results/schema.js";
import { type PlanOptions, toFlags } from "./options.js";

export interface RunOptions extends PlanOptions {
  /** Exactly these cells, by the ids that results have. */
  cells?: readonly string[];
  /** Ends the run with what it has measured: the status of its document is then "aborted". */
  signal?: AbortSignal;
  /** Called after each visit of a cell. */
  onProgress?: (progress: RunProgress) => void;
}

export interface RunProgress {
  /** Id of the cell that was measured. */
  cell: string;
  /** From 1. */
  round: number;
  /** Cells whose interval is as narrow as asked. */
  convergedCells: number;
  totalCells: number;
}

/**
 * Measures as `pinbench run` does, and returns the document that its --json prints. It prints nothing, and reads no
 * configuration and no arguments. A cell that fails does not reject: see its `outcome`. What is wrong with the options
 * or the machine rejects as a PinbenchError.
 */
export async function run({ cells, signal, onProgress, ...plan }: RunOptions = {}): Promise<ResultDocument> {
  const startedAt = new Date();
  const startedMs = performance.now();
  const flags = toFlags(plan, cells);
  const prepared = await preparePlan(flags, noConfig);
  const identity = {
    id: randomUUID(),
    startedAt,
    startedMs,
    argv: [],
    version: packageVersion(),
    ...prepared,
  };
  const hooks: Parameters<typeof runPlan>[2] = {
    onActivity: () => undefined,
    onCell: ({ cell }, round, all) =>
      onProgress?.({
        cell: cell.id,
        round: round + 1,
        convergedCells: all.filter(({ outcome }) => outcome === "converged").length,
        totalCells: prepared.plan.cells.length,
      }),
    onRound: async () => undefined,
  };
  return runPlan(identity, { numa: flags.numa }, hooks, signal ?? new AbortController().signal);
}
