import { Chalk, type ChalkInstance, supportsColor } from "chalk";

/**
 * Colours for stdout: none with --no-color, NO_COLOR (https://no-color.org) or without a terminal; FORCE_COLOR has
 * the last word, as chalk reads it.
 */
export function stdoutChalk(options: { color: boolean }): ChalkInstance {
  const { NO_COLOR, FORCE_COLOR } = process.env;
  if (!options.color) return plainChalk();
  if (FORCE_COLOR === undefined && NO_COLOR) return plainChalk();
  return new Chalk({ level: supportsColor ? supportsColor.level : 0 });
}

export function plainChalk(): ChalkInstance {
  return new Chalk({ level: 0 });
}
