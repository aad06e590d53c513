// `npm run recording`: draws docs/recording.svg, what two commands print on the emulated device, line by line. Needs a
// build, and a python3 with torch (or PINBENCH_TEST_PYTHON). Waits are shortened; the text is as it was printed.
import { spawn } from "node:child_process";
import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main, ScriptError } from "./lib/process.mjs";
import { inRoot } from "./lib/project.mjs";

const commands = [["run"], ["tune", "--", "python", "train.py"]];
const columns = 80;
const rows = 28;
const fontPx = 14;
const linePx = 18;
const cellPx = fontPx * 0.6;
const seconds = { prompt: 1, wait: 1.5, line: 0.08, read: 4 };
const maxBytes = 60_000;

/** All that a command prints, in its order on a terminal. Rejects if its exit code is not 0. */
function printed(args, cwd) {
  return new Promise((resolve, reject) => {
    const env = {
      ...process.env,
      PATH: `${cwd}:${process.env.PATH}`,
      COLUMNS: String(columns),
      LC_ALL: "C.UTF-8",
      NO_COLOR: "1",
    };
    const program = [inRoot("bin/pinbench.js"), ...args];
    const child = spawn(process.execPath, program, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (chunk) => {
        text += chunk;
      });
    }
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0
        ? resolve(text)
        : reject(new ScriptError(`pinbench ${args[0]} ended with ${code}:\n${text}`)),
    );
  });
}

/** Lines with the second at which each appears: a screen is filled, read, and then scrolled on. */
function timed(recordings) {
  const lines = [];
  let at = 0;
  for (const { command, text } of recordings) {
    lines.push({ text: `$ npx pinbench ${command.join(" ")}`, at: (at += seconds.prompt) });
    at += seconds.wait;
    for (const [index, line] of text.trimEnd().split("\n").entries()) {
      if (index > 0 && index % (rows - 2) === 0) at += seconds.read;
      lines.push({ text: line, at: (at += seconds.line) });
    }
    lines.push({ text: "", at: (at += seconds.read) });
  }
  return lines;
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function classOf(text) {
  if (text.startsWith("$ ")) return "prompt";
  if (text.startsWith("=>")) return "answer";
  return text.startsWith("!") ? "alert" : null;
}

function drawSvg(lines) {
  const width = Math.ceil(columns * cellPx) + 2 * linePx;
  const height = (rows + 2) * linePx;
  const end = lines.at(-1).at;
  const scrolls = lines.map(({ at }, index) => {
    const hidden = Math.max(0, index + 1 - rows);
    return `${((100 * at) / end).toFixed(2)}%{transform:translateY(${-hidden * linePx}px)}`;
  });
  const texts = lines.map(({ text, at }, index) => {
    const name = classOf(text);
    const attributes = `${name === null ? "" : ` class="${name}"`} y="${(index + 1) * linePx}"`;
    return text === ""
      ? ""
      : `<text${attributes} style="animation-delay:${at.toFixed(2)}s">${escaped(text)}</text>`;
  });
  const style = `svg{background:#16191d}
text{font:${fontPx}px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dbe0;white-space:pre;opacity:0;animation:show 1ms forwards}
.prompt{fill:#7ee787}.answer{fill:#fff;font-weight:bold}.alert{fill:#f2cc60}
@keyframes show{to{opacity:1}}
.scroll{animation:scroll ${end.toFixed(2)}s step-end forwards}
@keyframes scroll{${scrolls.join("")}}
@media(prefers-reduced-motion){text,.scroll{animation-duration:1ms;animation-delay:0s!important}}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img"><title>pinbench run, then tune, in a terminal</title>
<style>${style}</style>
<svg x="${linePx}" y="${linePx / 2}" width="${width - linePx}" height="${rows * linePx + linePx / 2}"><g class="scroll">
${texts.filter((text) => text !== "").join("\n")}
</g></svg></svg>
`;
}

main(async () => {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-recording-"));
  try {
    cpSync(inRoot("test/fixtures/docs"), folder, { recursive: true });
    const python = join(folder, "python");
    writeFileSync(python, `#!/bin/sh\nexec "${process.env.PINBENCH_TEST_PYTHON ?? "python3"}" "$@"\n`);
    chmodSync(python, 0o755);
    const recordings = [];
    for (const command of commands) recordings.push({ command, text: await printed(command, folder) });
    const svg = drawSvg(timed(recordings));
    if (Buffer.byteLength(svg) > maxBytes)
      throw new ScriptError(`The recording has more than ${maxBytes} bytes.`);
    writeFileSync(inRoot("docs/recording.svg"), svg);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
