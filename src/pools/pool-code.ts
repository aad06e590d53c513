import { cProgram } from "./c-program.js";
import type { PoolShape } from "./pinning-document.js";
import type { PoolPlace } from "./programmed-pool.js";
import { pythonModule } from "./python-module.js";

/**
 * Programs that obtain a pool as it was measured: in C for the CUDA runtime, and a Python module for torch. Both also give
 * it back, and run by themselves.
 */
export function poolCode(
  shape: PoolShape,
  sizeBytes: number,
  place: PoolPlace,
): { c: string; python: string } {
  const pool = { shape, sizeBytes, place };
  return { c: cProgram(pool), python: pythonModule(pool) };
}
