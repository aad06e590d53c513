import { shareDevices } from "../measure/prepare.js";

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
