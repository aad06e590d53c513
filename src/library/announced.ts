import { PinbenchError } from "../errors.js";
import { shareDevices } from "../measure/prepare.js";

/**
 * The function for callers who may have no types: without an argument it refuses as with none of its options, and the
 * message of its errors ends with their hint, which the command line prints by itself.
 */
export function forCallers<Work extends (options: never) => Promise<unknown>>(work: Work): Work {
  const called = async (options: unknown = {}) => {
    try {
      return await work(options as never);
    } catch (error) {
      if (error instanceof PinbenchError && error.hint !== null) {
        const told = `${error.message}${error.details.length > 0 ? "\n" : " "}${error.hint}`;
        error.stack = error.stack?.replace(error.message, () => told) ?? told;
        error.message = told;
      }
      throw error;
    }
  };
  return called as unknown as Work;
}

/**
 * Measures on devices as a program that others on them are told of, from before the first call until it settles; `sharing`
 * is null where nobody else can use them. The library waits for nobody.
 */
export async function announced<Measured>(
  prepared: Parameters<typeof shareDevices>[0],
  measure: (sharing: ReturnType<typeof shareDevices>) => Promise<Measured>,
): Promise<Measured> {
  const sharing = shareDevices(prepared, { command: "library", ownerPid: null });
  try {
    await sharing?.begin();
    return await measure(sharing);
  } finally {
    await sharing?.release();
  }
}
