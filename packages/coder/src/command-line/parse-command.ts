import { type SyntaxNode, childNodes, withSyntax } from "./syntax.ts";
import { type Argv, unwrap } from "./unwrap.ts";
import { wordValue } from "./word.ts";

/** What a shell line does, as far as can be known without running it. */
export interface ParsedCommand {
  /**
   * Every command that the line may run, in the order in which they are written. A wrapper such as
   * `sudo` or `xargs` is followed by the command that it runs.
   */
  readonly commands: readonly Argv[];
  /** The files that it redirects output to. */
  readonly writes: readonly string[];
  /** The files that it redirects input from. */
  readonly reads: readonly string[];
  /** The folder of a `cd` at the start of the line. */
  readonly startsIn?: string;
  /**
   * What cannot be known, for people. Unless this is empty, the line may run other commands and
   * write other files than listed.
   */
  readonly unknowns: readonly string[];
}

/**
 * Lists the commands that a shell line would run. The line is parsed as Bash; whatever is not
 * certain is listed in `unknowns`.
 *
 * @example
 * const { commands, writes } = await parseCommand("git log | sudo tee log.txt > /dev/null");
 * // commands: [["git", "log"], ["sudo", "tee", "log.txt"], ["tee", "log.txt"]]
 */
export async function parseCommand(line: string): Promise<ParsedCommand> {
  const found = new Findings();
  await found.readLine(line, 0);
  return found.result();
}

/** The same for a program that is started without a shell. */
export async function parseArgv(argv: readonly string[]): Promise<ParsedCommand> {
  const found = new Findings();
  await found.readCommands([argv], 0);
  return found.result();
}

/** How deep `sh -c "sh -c …"` is followed. */
const MAX_DEPTH = 5;

class Findings {
  readonly #commands: Argv[] = [];
  readonly #writes = new Set<string>();
  readonly #reads = new Set<string>();
  readonly #unknowns = new Set<string>();
  #startsIn: string | undefined;

  async readLine(line: string, depth: number): Promise<void> {
    if (depth > MAX_DEPTH) return this.#unknown("shells are nested too deeply");
    const own: Argv[] = [];
    const isRead = await withSyntax(line, (root) => {
      this.#readFirst(root, depth);
      this.#visit(root, own);
      return true;
    });
    if (isRead !== true) this.#unknown("the line is not valid, or could be read in several ways");
    await this.readCommands(own, depth);
  }

  async readCommands(commands: readonly Argv[], depth: number): Promise<void> {
    for (const argv of commands) {
      this.#commands.push(argv);
      const { inner, lines, unknown } = unwrap(argv);
      if (unknown !== undefined && !this.#isFirstCd(argv)) this.#unknown(unknown);
      await this.readCommands(inner, depth);
      for (const line of lines) await this.readLine(line, depth + 1);
    }
  }

  result(): ParsedCommand {
    return {
      commands: this.#commands,
      writes: [...this.#writes],
      reads: [...this.#reads],
      ...(this.#startsIn !== undefined && { startsIn: this.#startsIn }),
      unknowns: [...this.#unknowns],
    };
  }

  #unknown(why: string): void {
    this.#unknowns.add(why);
  }

  /**
   * A line may start with `cd folder && …`. Any other `cd` is unknown, because relative paths then
   * have no known meaning.
   */
  #readFirst(root: SyntaxNode, depth: number): void {
    let first: SyntaxNode | null = root.namedChild(0);
    while (/^(?:list|redirected_statement)$/.test(first?.type ?? "")) first = first!.namedChild(0);
    if (depth > 0 || first?.type !== "command") return;
    const [name, folder, ...rest] = argvOf(first);
    const isCd = name === "cd" && rest.length === 0;
    if (isCd && folder !== undefined && !folder.startsWith("-")) this.#startsIn = folder;
  }

  #isFirstCd(argv: Argv): boolean {
    return (
      this.#commands.length === 1 &&
      argv.length === 2 &&
      argv[0] === "cd" &&
      argv[1] === this.#startsIn
    );
  }

  #visit(node: SyntaxNode, into: Argv[]): void {
    if (node.type === "command") {
      into.push(argvOf(node));
      if (!isSplitAsShell(node)) this.#unknown("where a word or a command ends");
    }
    if (node.type === "file_redirect") this.#readRedirect(node);
    else this.#check(node);
    for (const child of childNodes(node)) if (child.isNamed) this.#visit(child, into);
  }

  /** Only constructs that are understood completely pass; everything else is unknown. */
  #check(node: SyntaxNode): void {
    if (UNDERSTOOD.has(node.type)) return;
    const { text } = node;
    switch (node.type) {
      case "simple_expansion":
      case "expansion":
        // Other forms assign, or evaluate what a variable contains.
        if (/^\$(?:\w+|[*@#?$!-])$|^\$\{\w+\}$/.test(text)) return;
        return this.#unknown(`what ${shortened(text)} does`);
      case "variable_name":
        // A loop over PATH would change which programs run.
        if (node.parent?.type !== "for_statement" || /^[a-z]\w*$/.test(text)) return;
        return this.#unknown(`it sets ${text}`);
      case "variable_assignment":
        return this.#unknown(`it sets ${shortened(node.childForFieldName("name")?.text ?? text)}`);
      case "file_descriptor":
        // The parser takes "-c2" in `sh -c2> x` for one.
        if (/^\d+$/.test(text)) return;
        return this.#unknown(`what ${shortened(text)} does`);
      case "heredoc_redirect":
        return this.#unknown("it has a here-document");
      case "process_substitution":
        return this.#unknown("it has a process substitution");
      case "arithmetic_expansion":
        return this.#unknown("it calculates");
      default:
        return this.#unknown(`what ${shortened(text)} does`);
    }
  }

  #readRedirect(node: SyntaxNode): void {
    const operator = childNodes(node).find((child) => !child.isNamed)?.type ?? "";
    const targets = node.childrenForFieldName("destination");
    if (/^[<>]&-$/.test(operator) && targets.length === 0) return;
    // The parser takes words after the file for files; for the shell they are arguments.
    const file = targets.length === 1 ? wordValue(targets[0]!) : undefined;
    if (file === undefined || !/^(?:<|>|>>|>\||&>|&>>|[<>]&)$/.test(operator)) {
      return this.#unknown(`where ${shortened(node.text)} leads`);
    }
    if (operator.endsWith("&") && /^\d+$/.test(file)) return;
    // Bash opens network connections for these names.
    if (/^\/dev\/(?:tcp|udp)\//.test(file)) return this.#unknown(`it opens ${file}`);
    (operator.startsWith("<") ? this.#reads : this.#writes).add(file);
  }
}

/** Children of a command that are not words of it. */
const BESIDE_WORDS = /_redirect$|^variable_assignment$|^comment$/;

function argvOf(command: SyntaxNode): Argv {
  const words = childNodes(command).filter(({ type }) => !BESIDE_WORDS.test(type));
  return words.map((word) => wordValue(word.type === "command_name" ? word.namedChild(0)! : word));
}

/**
 * The parser sometimes splits a word, or continues a command on the next line. For the shell, words
 * are separated by blanks, and a newline ends the command.
 */
function isSplitAsShell(command: SyntaxNode): boolean {
  const parts = childNodes(command);
  return parts.every((part, at) => {
    const before = parts[at - 1];
    if (before === undefined) return true;
    const [from, to] = [before.endIndex, part.startIndex].map((end) => end - command.startIndex);
    const gap = command.text.slice(from, to);
    const areWords = ![before, part].some(({ type }) => BESIDE_WORDS.test(type));
    return /^(?:[ \t]|\\\n)*$/.test(gap) && (!areWords || /[ \t]/.test(gap));
  });
}

const UNDERSTOOD: ReadonlySet<string> = new Set([
  "program",
  "list",
  "pipeline",
  "subshell",
  "compound_statement",
  "negated_command",
  "redirected_statement",
  "if_statement",
  "elif_clause",
  "else_clause",
  "while_statement",
  "for_statement",
  "do_group",
  "case_statement",
  "case_item",
  "extglob_pattern",
  "function_definition",
  "command",
  "command_name",
  "command_substitution",
  "herestring_redirect",
  "comment",
  "word",
  "number",
  "concatenation",
  "string",
  "string_content",
  "raw_string",
  "special_variable_name",
]);

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
