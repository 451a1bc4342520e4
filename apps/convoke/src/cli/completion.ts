import {
  type Command,
  type CommandGroup,
  type CommandTable,
  EXIT,
  UsageError,
} from "../terminal/command.ts";

/** What a shell runs to know the next words. The scripts are installed, so it must not change. */
const ASK = "convoke __complete";

const BASH = `# Completion of convoke for bash. In ~/.bashrc: source <(convoke completion bash)
_convoke() {
  local offers="$(${ASK} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1)"
  COMPREPLY=( $(compgen -W "$offers" -- "\${COMP_WORDS[COMP_CWORD]#=}") )
}
complete -o default -F _convoke convoke
`;

const ZSH = `#compdef convoke
# Completion of convoke for zsh. In ~/.zshrc, after compinit: source <(convoke completion zsh)
_convoke() {
  local -a offers=(\${(f)"$(${ASK} "\${(@Q)words[2,CURRENT]}" 2>/dev/null)"})
  offers=("\${(@)\${(@)offers//:/\\\\:}/$'\\t'/:}")
  if (( \${#offers} )); then _describe convoke offers; else _files; fi
}
if [[ $funcstack[1] == _convoke ]]; then _convoke "$@"; else compdef _convoke convoke; fi
`;

const FISH = `# Completion of convoke for fish. To install it:
# convoke completion fish > ~/.config/fish/completions/convoke.fish
function __convoke_complete
    set -l offers (${ASK} (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
    set -q offers[1]; and printf '%s\\n' $offers; or __fish_complete_path (commandline -ct)
end
complete -c convoke -f -a '(__convoke_complete)'
`;

export const completionCommands: CommandGroup = {
  name: "completion",
  summary: "Print a script that completes commands, flags and values in your shell",
  commands: [
    shellCommand("bash", BASH, "source <(convoke completion bash)"),
    shellCommand("zsh", ZSH, "source <(convoke completion zsh)"),
    shellCommand("fish", FISH, "convoke completion fish | source"),
  ],
};

function shellCommand(shell: string, script: string, example: string): Command {
  return {
    name: `completion ${shell}`,
    summary: `Print the script for ${shell}`,
    usage: "",
    examples: [example],
    options: {},
    more: "Its first lines say how to install it. It completes a convoke that is on the PATH.",
    run: async ({ io, positionals }) => {
      if (positionals.length > 0) {
        throw new UsageError(`convoke completion ${shell} takes no arguments.`);
      }
      io.stdout(script);
      return EXIT.done.code;
    },
  };
}

/**
 * The words that can follow, one per line, each with a tab and its help if that is known. No line:
 * the shell completes files. A person waits for it, so nothing is loaded but the command that was
 * typed.
 *
 * @param words what was typed after `convoke`; the last one is not complete, and may be empty
 */
export async function completionLines(
  words: readonly string[],
  commands: CommandTable,
): Promise<string> {
  return (await offers(words, commands)).map((line) => `${line}\n`).join("");
}

async function offers(
  [first = "", ...rest]: readonly string[],
  commands: CommandTable,
): Promise<readonly string[]> {
  if (rest.length === 0) {
    return first.startsWith("-") ? [HELP, VERSION] : [...commands.keys(), "help"];
  }
  if (first === "help") return rest.length === 1 ? [...commands.keys()] : [];
  const entry = await commands.get(first)?.();
  if (entry === undefined) return [];
  const inner = "commands" in entry ? entry.commands : (entry.subcommands ?? []);
  const named = rest.length > 1 && inner.find(({ name }) => name === `${first} ${rest[0]}`);
  const command = named || entry;
  const options = "options" in command ? command.options : {};
  const values = valueOffers(options, rest);
  if (values.length > 0) return values;
  if (rest.at(-1)?.startsWith("-")) return [...flagOffers(options), HELP];
  if (rest.length > 1) return [];
  return inner.map(({ name, summary }) => described(name.slice(first.length + 1), summary));
}

const HELP = described("--help", "Show this help");
const VERSION = described("--version", "Show the version");

function described(word: string, help: string): string {
  return `${word}\t${help}`;
}

function flagOffers(options: Command["options"]): readonly string[] {
  return Object.entries(options).map(([name, { help }]) => described(`--${name}`, help));
}

/** The values of the option before the last word, or of the one in it: `--state=`. */
function valueOffers(options: Command["options"], words: readonly string[]): readonly string[] {
  const choicesOf = (flag: string): readonly string[] => options[flag.slice(2)]?.choices ?? [];
  const current = words.at(-1) ?? "";
  const [, assigned] = /^(--[^=]+)=/.exec(current) ?? [];
  if (assigned !== undefined) return choicesOf(assigned).map((value) => `${assigned}=${value}`);
  // bash splits --state=working into three words.
  const before = words.slice(0, -1).filter((word) => word !== "=");
  return choicesOf(before.at(-1) ?? "");
}
