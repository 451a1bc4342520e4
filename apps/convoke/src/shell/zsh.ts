import { type Completion, type Described, inQuotes, innerCommands } from "./completion-table.ts";

/** A completion script for zsh. It can be sourced, or saved as `_convoke` in a folder of `fpath`. */
export function zshScript(table: readonly Completion[]): string {
  return `#compdef convoke
# Completion of convoke for zsh. In ~/.zshrc, after compinit: source <(convoke completion zsh)
_convoke() {
  local command="" previous="\${words[CURRENT-1]}"
  local -i place=2
  local -a names flags
  if (( CURRENT > 2 )); then
    command="\${words[2]}"
    place=3
  fi
  if (( CURRENT > 3 )); then
    case "$command \${words[3]}" in
      (${innerCommands(table).map(inQuotes).join("|")})
        command="$command \${words[3]}"
        place=4 ;;
    esac
  fi
  case "$command $previous" in
${table.flatMap(valuesOf).join("\n")}
  esac
  case "$command" in
${table.map(wordsOf).join("\n")}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o option flags
  elif (( CURRENT == place && \${#names} )); then
    _describe command names
  else
    _files
  fi
}
if [[ $funcstack[1] == _convoke ]]; then
  _convoke "$@"
else
  compdef _convoke convoke
fi
`;
}

/** What follows a flag. */
function valuesOf({ command, flags }: Completion): readonly string[] {
  return flags
    .filter(({ value }) => value !== "none")
    .map(({ word, value, choices }) => {
      const offered = choices.length > 0 ? `compadd -- ${choices.map(inQuotes).join(" ")}` : "";
      const otherwise = value === "file" ? "_files" : ":";
      return `    (${inQuotes(`${command} --${word}`)}) ${offered || otherwise}; return ;;`;
    });
}

function wordsOf({ command, words, flags }: Completion): string {
  const names = words.map(describe).join(" ");
  const dashed = flags.map(({ word, help }) => describe({ word: `--${word}`, help })).join(" ");
  return `    (${inQuotes(command)}) names=(${names}) flags=(${dashed}) ;;`;
}

/** In the form of `_describe`: a colon separates the word from its help. */
function describe({ word, help }: Described): string {
  return inQuotes(`${word}:${help}`);
}
