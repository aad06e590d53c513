// `npm run recording`: draws docs/recording.svg, the output of two commands in a terminal, line by line, on the emulated
// device. Needs a build, and a python3 with torch (or PINBENCH_TEST_PYTHON). Waits are shortened; the text is real.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main, ScriptError } from "./lib/process.mjs";
import { inRoot } from "./lib/project.mjs";

const commands = ["run", "tune -- python train.py"];
const [columns, rows] = [80, 28];
const wrapped = new RegExp(`.{1,${columns}}`, "gu");
const linePx = 18;
const cellPx = 8.5;
const seconds = { prompt: 1, wait: 1.5, line: 0.08, read: 4 };
const python = process.env.PINBENCH_TEST_PYTHON ?? "python3";
const inTerminal = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

/** All lines that a command prints in a dumb terminal: without colours and overwritten lines. */
function printed(command, cwd) {
  const env = { ...process.env, PATH: `${cwd}:${process.env.PATH}`, TERM: "dumb", LC_ALL: "C.UTF-8" };
  const sized = `stty cols ${columns} rows ${rows}; exec "$0" "$@"`;
  const program = [process.execPath, inRoot("bin/pinbench.js"), ...command.split(" ")];
  const args = ["-c", inTerminal, "sh", "-c", sized, ...program];
  const { status, stdout } = spawnSync(python, args, { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  if (status !== 0) throw new ScriptError(`pinbench ${command} ended with ${status}:\n${stdout}`);
  const lines = stdout.toString().replaceAll("\r", "").trimEnd().split("\n");
  return lines.flatMap((line) => line.match(wrapped) ?? [""]);
}

/** Lines with the second at which each appears: a screen is filled, read, and then scrolled on. */
function timed(recordings) {
  const lines = [];
  let at = 0;
  const show = (text, after) => {
    at += after;
    lines.push({ text, at });
  };
  for (const { command, printedLines } of recordings) {
    show(`$ npx pinbench ${command}`, seconds.prompt);
    at += seconds.wait;
    for (const [index, text] of printedLines.entries()) {
      show(text, index > 0 && index % (rows - 2) === 0 ? seconds.read : seconds.line);
    }
    show("", seconds.read);
  }
  return lines;
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const classes = { "$ ": "prompt", "! ": "alert" };

function drawSvg(lines) {
  const [width, height] = [columns * cellPx, rows * linePx];
  const end = lines.at(-1).at;
  const scrolls = lines.slice(rows).map(({ at }, index) => {
    return `${((100 * at) / end).toFixed(2)}%{transform:translateY(${-(index + 1) * linePx}px)}`;
  });
  let answering = false;
  const texts = lines.map(({ text, at }, index) => {
    // Later lines of an answer are indented.
    answering = text.startsWith("=>") || (answering && text.startsWith("   "));
    const name = answering ? "answer" : classes[text.slice(0, 2)];
    const attributes = `${name === undefined ? "" : ` class="${name}"`} y="${(index + 1) * linePx - 4}"`;
    const style = `animation-delay:${at.toFixed(2)}s`;
    return text === "" ? "" : `<text${attributes} style="${style}">${escaped(text)}</text>\n`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width + 2 * linePx} ${height + linePx}" role="img">
<title>pinbench run, then tune, in a terminal</title>
<style>svg{background:#16191d}
text{font:14px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dbe0;white-space:pre;opacity:0;animation:show 1ms forwards}
.prompt{fill:#7ee787}.answer{fill:#fff;font-weight:bold}.alert{fill:#f2cc60}
@keyframes show{to{opacity:1}}
.scroll{animation:scroll ${end.toFixed(2)}s step-end forwards}
@keyframes scroll{${scrolls.join("")}}
@media(prefers-reduced-motion){text,.scroll{animation:none;opacity:1}}</style>
<clipPath id="screen"><rect width="${width}" height="${height}"/></clipPath>
<g transform="translate(${linePx} ${linePx / 2})" clip-path="url(#screen)"><g class="scroll">
${texts.join("")}</g></g></svg>
`;
}

main(async () => {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-recording-"));
  try {
    cpSync(inRoot("test/fixtures/docs"), folder, { recursive: true });
    writeFileSync(join(folder, "python"), `#!/bin/sh\nexec "${python}" "$@"\n`, { mode: 0o755 });
    const recordings = commands.map((command) => ({ command, printedLines: printed(command, folder) }));
    writeFileSync(inRoot("docs/recording.svg"), drawSvg(timed(recordings)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
