import type { z } from "zod";
import { checkShape } from "../text-file.js";

/**
 * The message in a line of JSON from another process; null for other lines, which may be anything. The shape is checked
 * first, because a wrong field would otherwise look like a fault of pinbench, far from its source.
 */
export function readLine<Message extends z.ZodType>(
  line: string,
  message: Message,
): z.output<Message> | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  const parsed = checkShape(message, value);
  return parsed.success ? parsed.data : null;
}
