import { type Completion, type Flag, innerCommands } from "./completion-table.ts";

/** A completion script for fish. */
export function fishScript(table: readonly Completion[]): string {
  return `# Completion of convoke for fish. To install it:
# convoke completion fish > ~/.config/fish/completions/convoke.fish

# Whether the words before the cursor start with this command and not with one below it.
function __convoke_in
    set -l words (commandline -opc)
    set -l command "$words[2]"
    switch "$words[2..3]"
        case ${innerCommands(table).map(quote).join(" ")}
            set command "$words[2..3]"
    end
    test "$command" = "$argv"
end

# Whether the next word belongs to the name of the command.
function __convoke_at
    __convoke_in $argv; and test (count (commandline -opc)) -eq (math 1 + (count $argv))
end

${table.flatMap(linesFor).join("\n")}
`;
}

function linesFor({ command, words, flags }: Completion): readonly string[] {
  const at = quote(`__convoke_at ${command}`);
  const within = quote(`__convoke_in ${command}`);
  return [
    // -f: no files.
    ...words.map(
      ({ word, help }) => `complete -c convoke -n ${at} -f -a ${word} -d ${quote(help)}`,
    ),
    ...flags.map((flag) => `complete -c convoke -n ${within} ${flagWords(flag)}`),
  ];
}

function flagWords({ word, short, value, help, choices }: Flag): string {
  return [
    `-l ${word}`,
    ...(short === undefined ? [] : [`-s ${short}`]),
    // -r: a value is required, and files are offered; -x: a value, but no files.
    ...(value === "none" ? [] : [value === "file" ? "-r" : "-x"]),
    ...(choices.length === 0 ? [] : [`-a ${quote(choices.join(" "))}`]),
    `-d ${quote(help)}`,
  ].join(" ");
}

/** A text in single quotes, in which fish knows two escapes. */
function quote(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}
