/**
 * Calls `isOver` once nothing has come for `silentMs`, unless the returned function is called before. What came while this
 * process had no CPU is read first: its timers are late then, and are the first to be called.
 */
export function afterSilence(silentMs: number, isOver: () => void): () => void {
  let immediate: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    immediate = setImmediate(isOver);
  }, silentMs);
  return () => {
    clearTimeout(timer);
    clearImmediate(immediate);
  };
}
