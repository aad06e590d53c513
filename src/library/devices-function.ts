import { type DevicesReport, describeDevices } from "../report/describe-devices.js";
import { commandSettings } from "../settings/command-settings.js";
import type { Options } from "../settings/setting.js";
import { readOptions } from "../settings/settings.js";
import { forCallers, gpuAlone } from "./for-callers.js";

const { backend } = commandSettings.devices;
const listSettings = { backend } as const;

export interface DevicesOptions extends Options<typeof listSettings> {}

/**
 * Lists the devices as `pinbench devices` does, in the document of its --json, without measuring. The
 * emulated device needs `backend` "emulated", or "auto" without a GPU. Wrong options or a missing driver
 * reject as a PinbenchError.
 */
export const devices = forCallers(async (options: DevicesOptions = {}): Promise<DevicesReport> => {
  const settings = { ...gpuAlone, ...readOptions(listSettings, options) };
  return describeDevices(settings.backend);
});
