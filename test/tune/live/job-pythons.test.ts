import { beforeEach, expect, it, vi } from "vitest";
import { JobPythons } from "../../../src/tune/live/job-pythons.js";

/* Reasons why no loader of a job is visible, with a simulated /proc. */

const files = vi.hoisted(() => new Map<string, string>());
vi.mock("../../../src/host/files.js", () => ({
  readText: (_: string, path: string) => files.get(path) ?? null,
}));
beforeEach(() => files.clear());

const hooked = "PYTHONPATH=/hook:/mine\0A=1";
const loaded = "7f00 r-xp 1 2 /lib/libtorch_cpu.so";

it.each<[string, { environ?: string; maps?: string }, string | null]>([
  ["bash train.sh", {}, "None of its processes is a Python that pinbench can look into."],
  ["/usr/bin/pythonista -I", {}, "None of its processes is a Python that pinbench can look into."],
  ["/opt/bin/python3.12 -Is train.py", {}, "/opt/bin/python3.12 was started with -Is, which keeps"],
  ["python -u -E -m train", {}, "python was started with -E, which keeps pinbench out"],
  ["python -m train -I", {}, "None of its processes has loaded torch."],
  ["python train.py", { environ: "PYTHONPATH=." }, "Write PYTHONPATH=.:$PYTHONPATH in it."],
  ["python train.py", { environ: "" }, "The command clears the environment, which keeps pinbench out"],
  ["python train.py", { environ: hooked, maps: loaded }, null],
])("pinbench names the reason, if any, why it cannot look into %s with %o", (command, of, reason) => {
  files.set("proc/10/cmdline", command.replaceAll(" ", "\0"));
  for (const [name, text] of Object.entries(of)) files.set(`proc/10/${name}`, text);
  const pythons = new JobPythons("/hook");
  pythons.look([10, 99]);
  const why = pythons.reasonUnobserved(false);
  if (reason === null) expect(why).toBeNull();
  else expect(why).toContain(reason);
});
