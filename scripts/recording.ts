/**
 * Records what the README claims, from a real run: the demo agent streams, `kill -9` ends its
 * server, it is started again, and the stream goes on.
 *
 *     npm run docs:recording             writes docs/public/kill-9.svg
 *     npm run docs:recording -- --text   prints the run instead
 *
 * It fails unless what the stream has printed in the end is the answer, once. It needs port 3000, and
 * the program `script`, which is the terminal that the caller sees.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";

const BIN = fileURLToPath(new URL("../apps/convoke/bin/convoke.js", import.meta.url));
const PICTURE = fileURLToPath(new URL("../docs/public/kill-9.svg", import.meta.url));
const URL_OF_SERVER = "http://127.0.0.1:3000";
const COUNT = 240;

/** What npm sets, for the command lines that the server prints. */
const STARTED_BY_NPX = { npm_lifecycle_event: "npx", npm_lifecycle_script: "convoke serve" };

// The terminals of the picture, in pixels and characters.
const COLUMNS = 88;
const CHAR = 8.4;
const LINE = 19;
const PAD = 14;
const TITLE = 26;

/** Text that appeared on one of the terminals. */
interface Output {
  readonly atMs: number;
  readonly terminal: number;
  readonly kind: "typed" | "text" | "remark";
  readonly text: string;
}

const TERMINALS = ["the server", "a caller", "you"] as const;
const [SERVER, CALLER, YOU] = [0, 1, 2];

const folder = mkdtempSync(join(tmpdir(), "convoke-recording-"));
const outputs: Output[] = [];
const begin = performance.now();
const children: ChildProcess[] = [];
try {
  await record();
} finally {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
if (process.argv.includes("--text")) process.stdout.write(asText());
else writeFileSync(PICTURE, asPicture());

async function record(): Promise<void> {
  const first = await serve();
  const answer = Array.from({ length: COUNT }, (_, place) => place + 1).join(" ");
  type(CALLER, `npx convoke stream ${URL_OF_SERVER} "slow ${COUNT}"`);
  const stream = run(CALLER, ["stream", URL_OF_SERVER, `slow ${COUNT}`]);
  const ended = once(stream, "close");
  await sleep(2200);
  type(YOU, "kill -9 $(lsof -t -i :3000 -s TCP:LISTEN)");
  first.kill("SIGKILL");
  await once(first, "close");
  show(SERVER, "text", "Killed\n");
  await sleep(1000);
  await serve();
  await ended;
  const printed = outputs.filter(({ terminal, kind }) => terminal === CALLER && kind === "text");
  const all = printed.map(({ text }) => text).join("");
  if (all.replaceAll(/\s+/g, " ").trim() !== answer)
    throw new Error(`the stream printed something else:\n${all}`);
}

/** Starts the server, and resolves when it accepts requests. */
async function serve(): Promise<ChildProcess> {
  type(SERVER, "npm start");
  const child = run(SERVER, ["serve"]);
  for (;;) {
    const isReady = await fetch(`${URL_OF_SERVER}/health`).then(
      () => true,
      () => false,
    );
    if (isReady) return child;
    if (child.exitCode !== null) throw new Error("the server did not start; is port 3000 free?");
    await sleep(20);
  }
}

/** Runs `convoke`. The caller sees it on a terminal, which `script` is. */
function run(terminal: number, args: readonly string[]): ChildProcess {
  const words = [process.execPath, BIN, ...args];
  const line = words.map((word) => `'${word}'`).join(" ");
  const [program = "", ...rest] =
    terminal === CALLER ? ["script", "-qefc", `exec ${line}`, "/dev/null"] : words;
  const child = spawn(program, rest, {
    cwd: folder,
    env: { ...process.env, ...STARTED_BY_NPX, PORT: "3000", TERM: "xterm" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  child.stdout!.setEncoding("utf8").on("data", (text: string) => {
    for (const [kind, piece] of withoutColours(text)) show(terminal, kind, piece);
  });
  return child;
}

/** Remarks are dim on a terminal. */
function withoutColours(text: string): readonly (readonly [Output["kind"], string])[] {
  const pieces = text.replaceAll("\r\n", "\n").split("\u001B[2m");
  return pieces.flatMap((piece, place) => {
    const [remark = "", ...rest] = place === 0 ? ["", piece] : piece.split("\u001B[22m");
    const all = [
      ["remark", remark],
      ["text", rest.join("")],
    ] as const;
    return all
      .filter(([, words]) => words !== "")
      .map(([kind, words]) => [kind, stripVTControlCharacters(words)] as const);
  });
}

function type(terminal: number, text: string): void {
  show(terminal, "typed", `$ ${text}\n`);
}

function show(terminal: number, kind: Output["kind"], text: string): void {
  outputs.push({ atMs: performance.now() - begin, terminal, kind, text });
}

function asText(): string {
  const parts = TERMINALS.map((title, terminal) => {
    const own = outputs.filter((output) => output.terminal === terminal);
    return `--- ${title}\n${own.map(({ text }) => text).join("")}`;
  });
  return `${parts.join("\n")}\n`;
}

/** A piece of a line of a terminal, and when it appears. */
interface Piece extends Output {
  readonly column: number;
  readonly line: number;
}

/** The terminals below each other; each text appears when it did. Without motion, all of it is shown. */
function asPicture(): string {
  let top = 0;
  const panes = TERMINALS.map((title, terminal) => {
    const pieces = layOut(outputs.filter((output) => output.terminal === terminal));
    const height = TITLE + (pieces.at(-1)!.line + 1) * LINE + PAD;
    const y = top;
    top += height + PAD;
    return `<g transform="translate(0 ${y})">
<rect class="pane" width="${width()}" height="${height}" rx="8"/>
<text class="title" x="${PAD}" y="18">${title}</text>
${pieces.map(drawn).join("\n")}
</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width()} ${top - PAD}" role="img" aria-label="A stream goes on after kill -9 of its server">
<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d6deeb; white-space: pre }
.pane { fill: #0f172a } .title { fill: #7f8ea3 } .typed { fill: #7dd3a8 } .remark { fill: #7f8ea3 }
.o { opacity: 0; animation: show 1ms linear forwards }
@keyframes show { to { opacity: 1 } }
@media (prefers-reduced-motion: reduce) { .o { opacity: 1; animation: none } }
</style>
${panes.join("\n")}
</svg>
`;
}

function width(): number {
  return Math.ceil(COLUMNS * CHAR + 2 * PAD);
}

/** Breaks the text of a terminal into lines of equal width. */
function layOut(own: readonly Output[]): readonly Piece[] {
  const pieces: Piece[] = [];
  let [column, line] = [0, 0];
  for (const output of own) {
    for (const word of output.text.split(/(\n|(?<=[^\n]) )/)) {
      if (word === "\n" || column + word.length > COLUMNS) [column, line] = [0, line + 1];
      if (word === "\n" || word === "") continue;
      const last = pieces.at(-1);
      const isSame = last?.atMs === output.atMs && last.line === line;
      if (isSame) pieces.splice(-1, 1, { ...last, text: last.text + word });
      else pieces.push({ ...output, text: word, column, line });
      column += word.length;
    }
  }
  return pieces;
}

function drawn({ atMs, kind, text, column, line }: Piece): string {
  const x = (PAD + column * CHAR).toFixed(1);
  const y = TITLE + (line + 1) * LINE;
  const length = `textLength="${(text.length * CHAR).toFixed(1)}"`;
  const delay = `style="animation-delay:${(atMs / 1000).toFixed(2)}s"`;
  return `<text class="o ${kind}" x="${x}" y="${y}" ${length} ${delay}>${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
