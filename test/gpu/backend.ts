import { type Backend, openBackend } from "../../src/native/backend.js";
import { loadAddon } from "../../src/native/load.js";

/** PINBENCH_TEST_BACKEND=emulated tries the tests themselves without a GPU. */
export const backendName = process.env.PINBENCH_TEST_BACKEND === "emulated" ? "emulated" : "cuda";
export const isEmulated = backendName === "emulated";

export function openTestBackend(): Promise<Backend> {
  return openBackend(backendName, loadAddon());
}
