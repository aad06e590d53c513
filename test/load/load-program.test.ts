import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadKind } from "../../src/load/load-report.js";
import { drawn } from "../helpers/drawn.js";
import { buildLoad } from "../helpers/load.js";
import { temporaryFolder } from "../helpers/run-cli.js";

/** torch as far as the program uses it, if there is none, and a CUDA that notes its calls. */
const torch = `
import sys, types
try:
    import torch
except ImportError:
    torch = sys.modules["torch"] = types.ModuleType("torch")
    class Tensor:
        def __init__(self, data): self.data, self.nbytes = data, len(data)
        def data_ptr(self): return id(self.data)
        def to(self, device): return self
        def tolist(self): return list(self.data[:])
    torch.uint8, torch.cuda = None, types.SimpleNamespace()
    torch.frombuffer = lambda data, dtype: Tensor(data)
calls = []
class Cudart:
    def cudaHostRegister(self, pointer, size, flags): calls.append(["register", size, flags]); return RESULT
    def cudaHostUnregister(self, pointer): calls.append(["unregister"])
def check_error(result):
    if result != 0: raise RuntimeError("refused")
torch.cuda.cudart, torch.cuda.check_error = Cudart, check_error
`;

function runProgram(result: number, end: string) {
  const path = join(temporaryFolder(), "weights.bin");
  writeFileSync(
    path,
    Uint8Array.from({ length: 5000 }, (_, i) => i * 3),
  );
  const program = drawn(loadKind, buildLoad(), "python");
  const text = `${torch.replace("RESULT", String(result))}\n${program}\npath = ${JSON.stringify(path)}\n${end}`;
  return spawnSync("python3", ["-W", "ignore", "-c", text], { encoding: "utf8" });
}

describe("the program that pinbench load prints", () => {
  it("loads a file from a mapping that is registered read-only, and unregisters it afterwards", () => {
    const { stdout, stderr } = runProgram(
      0,
      "print(load(path, 'cpu').tolist() == [i * 3 % 256 for i in range(5000)], calls)",
    );
    expect({ stdout, stderr }).toEqual({
      stdout: "True [['register', 5000, 8], ['unregister']]\n",
      stderr: "",
    });
  });

  it("fails if the driver refuses to register the file", () => {
    const { status, stderr } = runProgram(801, "load(path, 'cpu')");
    expect(status).toBe(1);
    expect(stderr).toContain("RuntimeError: refused");
  });
});
