import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll } from "vitest";

const folder = join(tmpdir(), `pinbench-wrapped-${process.pid}`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

/** A function without parameters that calls `FILE.py:NAME` with these arguments, as users write it. */
export function wrapped(target: string, kwargs: object): string {
  const [path = "", name = ""] = target.split(":");
  const file = join(folder, `wrapped_${++count}.py`);
  const text = (value: string) => JSON.stringify(value);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    file,
    `import json, sys
sys.path.insert(0, ${text(dirname(path))})
from ${basename(path, ".py")} import ${name}


def made():
    return ${name}(**json.loads(${text(JSON.stringify(kwargs))}))
`,
  );
  return `${file}:made`;
}
