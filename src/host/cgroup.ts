import { posix } from "node:path";
import { readText } from "./files.js";

/** A control group that may limit this process: the group it is in, or a parent of that. */
export interface Cgroup {
  version: 1 | 2;
  /** Of its files for a controller, below the root. */
  directory: string;
}

/**
 * The groups, of version 2 and version 1, that may hold limits of this process. In a container the path in
 * /proc/self/cgroup is often the host's and does not exist; its parents up to the mount point, which is the container's
 * own group, are listed too, so that reading what is there and passing over the rest finds the limits.
 */
export function cgroupsOf(root: string, controller: "cpu" | "memory"): Cgroup[] {
  const groups: Cgroup[] = [];
  for (const line of readText(root, "proc/self/cgroup")?.split("\n") ?? []) {
    const match = /^\d+:([^:]*):(\/.*)$/.exec(line);
    if (match === null) continue;
    const [, controllers = "", group = "/"] = match;
    if (controllers === "") {
      // A hybrid layout mounts version 2 beside the controllers of version 1.
      for (const mount of ["sys/fs/cgroup", "sys/fs/cgroup/unified"]) {
        groups.push(...upwards(2, mount, group));
      }
    } else if (controllers.split(",").includes(controller)) {
      // "cpu,cpuacct" is mounted under that name, and under a link of each controller's own.
      for (const mount of new Set([`sys/fs/cgroup/${controllers}`, `sys/fs/cgroup/${controller}`])) {
        groups.push(...upwards(1, mount, group));
      }
    }
  }
  return groups;
}

/** The group that is mounted there, after all of its own that lead to `group`, the innermost first. */
function upwards(version: Cgroup["version"], mount: string, group: string): Cgroup[] {
  // A group outside of this cgroup namespace reads "/../…" and has no files here.
  const names = group.split("/").filter((name) => name !== "");
  if (names.includes("..")) return [{ version, directory: mount }];
  return [...names.keys(), names.length]
    .reverse()
    .map((depth) => ({ version, directory: posix.join(mount, ...names.slice(0, depth)) }));
}
