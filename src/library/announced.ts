import { shareDevices } from "../measure/prepare.js";

/**
 * Announces a measurement to other programs on its devices, from before the first call until it settles; `sharing`
 * is null if no other program can use them. The library never waits for others.
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
