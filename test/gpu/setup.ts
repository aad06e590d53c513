import { spawnSync } from "node:child_process";
import type { TestProject } from "vitest/node";
import { saySkipped } from "../helpers/optional-programs.js";
import { openTestBackend } from "./backend.js";

/** What not every machine has, of what some tests need. */
export type Need = "gpu" | "twoGpus" | "torch" | "nvcc";

declare module "vitest" {
  interface ProvidedContext {
    /** Why the tests that need it are skipped; null if they are not. */
    missing: Record<Need, string | null>;
    /** The Python that is looked into for a torch with CUDA. */
    gpuPython: string;
  }
}

const advice: Readonly<Record<Need, string>> = {
  gpu: "PINBENCH_TEST_BACKEND=emulated only tries the tests themselves.",
  twoGpus: "Run them on a machine with two.",
  torch: "PINBENCH_TEST_PYTHON names another Python that has it.",
  nvcc: "It comes with the CUDA toolkit and has to be in PATH.",
};

/** Looks once, for all tests, for what they need; the last lines of the run say how many were skipped for what. */
export default async function setup(project: TestProject): Promise<() => void> {
  const python = process.env.PINBENCH_TEST_PYTHON ?? "python3";
  const { facts } = await openTestBackend();
  const why = (isThere: boolean, reason: string) => (isThere ? null : reason);
  const missing: Record<Need, string | null> = {
    gpu: why(!facts.emulated, "needs a GPU"),
    twoGpus: why(facts.devices.length > 1, "needs two GPUs"),
    torch: why(!facts.emulated && hasTorch(python), `needs a torch with CUDA, which ${python} has not`),
    nvcc: why(!facts.emulated && succeeds("nvcc", ["--version"]), "needs a GPU and nvcc"),
  };
  project.provide("missing", missing);
  project.provide("gpuPython", python);
  return () => {
    for (const [need, note] of Object.entries(missing)) {
      if (note !== null) saySkipped(project, note, advice[need as Need]);
    }
  };
}

function hasTorch(python: string): boolean {
  return succeeds(python, ["-c", "import torch; assert torch.cuda.is_available()"]);
}

function succeeds(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}
