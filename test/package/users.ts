export const isRoot = process.geteuid?.() === 0;

export const nobody = 65534;

/** What a command begins with that is to run as another user; nothing where this one may not choose. */
export const asNobody = isRoot
  ? ["/usr/bin/setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups", "--inh-caps=-all"]
  : [];
