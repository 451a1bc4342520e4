import type { Argv } from "../command-line/unwrap.ts";

/** Whether a command fits a pattern; `maybe` if that depends on words that are not known. */
type Match = "yes" | "maybe" | "no";

/** Whether a command starts with exactly the words of a pattern. */
export function startsWith(pattern: string, argv: Argv): boolean {
  return wordsOf(pattern).every((word, at) => {
    const given = argv[at];
    return given !== undefined && matchesText(word, given);
  });
}

/** Whether a command has the program and the words of a pattern, in this order. */
export function mentions(pattern: string, argv: Argv): Match {
  const [program, ...words] = wordsOf(pattern);
  const [given, ...rest] = argv;
  if (given === undefined) return "maybe";
  if (!isProgram(program!, given)) return "no";
  let at = 0;
  let isCertain = true;
  for (const word of rest) {
    if (word === undefined) isCertain = false;
    else if (at < words.length && matchesText(words[at]!, word)) at += 1;
  }
  if (at === words.length) return "yes";
  return isCertain ? "no" : "maybe";
}

/** `rm` is also meant by `/bin/rm`. */
function isProgram(word: string, program: string): boolean {
  const name = program.slice(program.lastIndexOf("/") + 1);
  return matchesText(word, program) || matchesText(word, name);
}

function wordsOf(pattern: string): readonly string[] {
  return pattern.trim().split(/\s+/);
}

/** `*` stands for any characters. */
export function matchesText(pattern: string, text: string): boolean {
  const source = pattern.replaceAll(/[.*+?^${}()|[\]\\/-]/g, (one) =>
    one === "*" ? ".*" : `\\${one}`,
  );
  return new RegExp(`^${source}$`, "s").test(text);
}
