import type { WriteStream } from "node:tty";
import { Chalk, type ColorSupportLevel, supportsColor, supportsColorStderr } from "chalk";
import { type Screen, usualColumns } from "../../draw/screen.js";
import { columnsOf, showsUnicode } from "./terminal.js";

export interface DisplayFlags {
  showsAll?: boolean;
}

export function stdoutScreen(flags: DisplayFlags = {}): Screen {
  return streamScreen(process.stdout, supportsColor, flags);
}

export function stderrScreen(flags: DisplayFlags): Screen {
  return streamScreen(process.stderr, supportsColorStderr, flags);
}

function streamScreen(
  stream: Pick<WriteStream, "isTTY" | "columns">,
  colours: { level: number } | false,
  { showsAll = true }: DisplayFlags,
): Screen {
  return {
    columns: columnsOf(stream, usualColumns),
    chalk: new Chalk({ level: colourLevel(colours) }),
    isAscii: !showsUnicode(process.env),
    showsAll,
  };
}

/** No colours with NO_COLOR (https://no-color.org) or without a terminal; FORCE_COLOR overrides both, as in chalk. */
function colourLevel(supported: { level: number } | false): ColorSupportLevel {
  const { NO_COLOR, FORCE_COLOR } = process.env;
  if (FORCE_COLOR === undefined && NO_COLOR) return 0;
  return supported ? (supported.level as ColorSupportLevel) : 0;
}
