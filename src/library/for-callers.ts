import { PinbenchError } from "../errors.js";

/** The library's default: it never returns the emulated device's figures unless requested. */
export const gpuAlone = { backend: "cuda" } as const;

/**
 * Adapts a function for callers without types: a missing argument means empty options, and error messages end with
 * their hint, which the command line prints separately.
 */
export function forCallers<Work extends (options: never) => Promise<unknown>>(work: Work): Work {
  const called = async (options: unknown = {}) => {
    try {
      refuseInvalid(options);
      return await work(options as never);
    } catch (error) {
      if (error instanceof PinbenchError && error.hint !== null) {
        const hint = error.hint.replaceAll("--backend emulated", 'backend: "emulated"');
        const message = `${error.message}${error.details.length > 0 ? "\n" : " "}${hint}`;
        Object.assign(error, { hint });
        error.stack = error.stack?.replace(error.message, () => message) ?? message;
        error.message = message;
      }
      throw error;
    }
  };
  return called as unknown as Work;
}

/** Throws a usage error for something that cannot be options of any function. */
function refuseInvalid(options: unknown): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new PinbenchError("usage", "The options must be an object.");
  }
  const { signal, onProgress } = options as { signal?: Partial<AbortSignal> | null; onProgress?: unknown };
  // A signal from another context, such as a test runner's, is not an instance of this AbortSignal.
  if (signal !== undefined && typeof signal?.addEventListener !== "function") {
    throw new PinbenchError("usage", "The option signal must be an AbortSignal.");
  }
  if (onProgress !== undefined && typeof onProgress !== "function") {
    throw new PinbenchError("usage", "The option onProgress must be a function.");
  }
}
