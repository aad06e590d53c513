import { fileURLToPath } from "node:url";

/** What a torch probe runs, and with what. */
export interface TorchProbeOptions {
  /** The Python to run: a path, or a name to look up in PATH. */
  python: string;
  /**
   * "train_data.py:make_dataset" or "my.module:make_dataset": a Dataset, a DataLoader, or something to call that
   * returns one of them. Paths are relative to the current folder.
   */
  target: string;
  /** Null where a DataLoader says it. */
  batchSize: number | null;
  /** "collate.py:fn"; null for the DataLoader's own, or torch's. */
  collate: string | null;
  /** What the target is called with. */
  kwargs: Readonly<Record<string, unknown>>;
  /** A step of so long beside the loader, or "auto": about as much computing for a batch as ResNet-50 does. */
  step: { durationNs: number } | "auto" | null;
  /** Takes the samples of a Dataset in random order, as `seed` has it; a DataLoader keeps its own order. */
  shuffle: boolean;
  seed: number;
  /** So long each part of the opening may take: importing torch, making the data set, the first batch. */
  timeoutNs: number;
  /** Closes the probe. */
  signal: AbortSignal;
}

/** The Python program, beside this file both in src/ and in dist/. */
export const probeProgram = fileURLToPath(new URL("probe/main.py", import.meta.url));

/** What to do about a Python that will not do. */
export const pythonHint = "--python names another Python: the one of the training's environment.";
