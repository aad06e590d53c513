import { posix } from "node:path";
import { readText } from "./files.js";

export type CgroupController = "cpu" | "memory";

/** Where a controller's files for this process are: its own group first, then every parent, as each may limit it. */
export interface CgroupHierarchy {
  version: 1 | 2;
  /** Paths below the root. */
  directories: string[];
}

/**
 * The hierarchies, of version 2 and version 1, that may hold limits of this process. In a container the path in
 * /proc/self/cgroup is often the host's and does not exist; its parents up to the mount point, which is the container's
 * own group, are listed too, so that reading what is there and passing over the rest finds the limits.
 */
export function cgroupHierarchies(root: string, controller: CgroupController): CgroupHierarchy[] {
  const hierarchies: CgroupHierarchy[] = [];
  for (const line of readText(root, "proc/self/cgroup")?.split("\n") ?? []) {
    const match = /^\d+:([^:]*):(\/.*)$/.exec(line);
    if (match === null) continue;
    const [, controllers = "", group = "/"] = match;
    if (controllers === "") {
      // A hybrid layout mounts version 2 beside the controllers of version 1.
      for (const mount of ["sys/fs/cgroup", "sys/fs/cgroup/unified"]) {
        hierarchies.push({ version: 2, directories: upwards(mount, group) });
      }
    } else if (controllers.split(",").includes(controller)) {
      // "cpu,cpuacct" is mounted under that name, and under a link of each controller's own.
      for (const mount of new Set([`sys/fs/cgroup/${controllers}`, `sys/fs/cgroup/${controller}`])) {
        hierarchies.push({ version: 1, directories: upwards(mount, group) });
      }
    }
  }
  return hierarchies;
}

function upwards(mount: string, group: string): string[] {
  // A group outside of this cgroup namespace reads "/../…" and has no files here.
  const names = group.split("/").filter((name) => name !== "");
  if (names.includes("..")) return [mount];
  return [...names.keys(), names.length]
    .reverse()
    .map((depth) => posix.join(mount, ...names.slice(0, depth)));
}
