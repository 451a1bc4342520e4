import { type Random, pick } from "../fuzz/dice.ts";

/** Writes random shell lines. Their programs are harmless, and they write only to the folder. */
export class ShellLines {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** A line of the grammar, or tokens in any order. */
  next(): string {
    return this.#random() < 0.6 ? this.#list(3) : this.#soup();
  }

  #pick<T>(from: readonly T[]): T {
    return pick(from, this.#random);
  }

  #some(max: number, make: () => string, separator: string): string {
    const count = 1 + Math.floor(this.#random() * max);
    return Array.from({ length: count }, make).join(separator);
  }

  #list(depth: number): string {
    return this.#some(
      2,
      () => this.#pipeline(depth),
      this.#pick([" && ", " || ", "; ", " & ", "\n"]),
    );
  }

  #pipeline(depth: number): string {
    const pipeline = this.#some(2, () => this.#statement(depth), this.#pick([" | ", "|", " |& "]));
    return this.#random() < 0.1 ? `! ${pipeline}` : pipeline;
  }

  #statement(depth: number): string {
    if (depth === 0 || this.#random() < 0.5) return this.#command(depth);
    const inner = (): string => this.#list(depth - 1);
    const statement = this.#pick([
      () => `(${inner()})`,
      () => `{ ${inner()}; }`,
      () => `if ${inner()}; then ${inner()}; else ${inner()}; fi`,
      () => `for ${this.#pick(["i", "X", "PATH"])} in a b; do ${inner()}; done`,
      () => `case a in ${this.#pick(["a", "*", "b"])}) ${inner()};; esac`,
      () => `while fails; do ${inner()}; done`,
      () => `f() { ${inner()}; }; f ${this.#word(depth)}`,
      () => `p1 <<${this.#pick(["E", "'E'", '"E"'])}\n${inner()}\n$(p2)\nE\n`,
    ])();
    return this.#random() < 0.2 ? `${statement} ${this.#redirect()}` : statement;
  }

  #command(depth: number): string {
    const before = this.#pick(["", "", "", "A=1 ", "PATH=. ", "> out ", "X=$(p3) "]);
    const words = this.#some(3, () => this.#word(depth), " ");
    const after = this.#random() < 0.3 ? ` ${this.#redirect()}` : "";
    return `${before}${this.#pick(WRAPPERS)}${this.#program()} ${words}${after}`;
  }

  #program(): string {
    return this.#pick(["p1", "p2", "p3", "./p1", "echo", "p\\1", "'p2'", 'p"3"', "$X", "f", "p*"]);
  }

  #word(depth: number): string {
    if (depth > 0 && this.#random() < 0.2) {
      const inner = this.#list(depth - 1);
      return this.#pick([`$(${inner})`, `"$(${inner})"`, `\`p2\``, `<(${inner})`, `"a\`p3\`b"`]);
    }
    return this.#pick(WORDS);
  }

  #redirect(): string {
    return this.#pick([
      "> out",
      ">>out2",
      "2>&1",
      "< p1",
      "&> out3",
      ">| out",
      "<<< $X",
      ">$X",
      "> 'o t'",
    ]);
  }

  #soup(): string {
    return this.#some(9, () => this.#pick(TOKENS) + this.#pick(["", " ", " ", " "]), "");
  }
}

const WRAPPERS = [
  ...Array.from({ length: 10 }, () => ""),
  "env ",
  "env A=1 ",
  "env -i ",
  "nohup ",
  "timeout 5 ",
  "nice -n 5 ",
  "time ",
  "command ",
  "exec ",
  "echo a b | xargs -n 1 ",
  "find . -name p1 -exec ",
  "eval ",
  "sh -c ",
  "bash -ec 'p1; p2' ",
  "timeout $X ",
];

const WORDS = [
  "a",
  "-la",
  "'q r'",
  '"q  $X"',
  "$X",
  "${X}",
  "${X:-$(p2)}",
  "$((1+1))",
  "p*",
  "{a,b}",
  "~",
  "a\\ b",
  "$'p\\x31'",
  "{}",
  "\\;",
  "+",
  "'p1; p2'",
  "#x",
  "a#b",
  "a~1",
  "x=~",
  "a:~",
  "-o~",
];

const TOKENS = (
  "p1 p2 p3 echo env xargs sh -c 'p1' \"p2\" $X $(p3) `p1` | || && ; & ( ) { } ! > >> < 2> <( <<E " +
  "<<< if then fi for in do done case esac else function time coproc \\ ' \" $ # = [ ] [[ ]] (( )) " +
  "* ~ a= E {a,b}"
)
  .split(" ")
  .concat("\n", "\\\n");
