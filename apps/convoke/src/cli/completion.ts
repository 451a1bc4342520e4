import { bashScript } from "../shell/bash.ts";
import { type Completion, completionTable } from "../shell/completion-table.ts";
import { fishScript } from "../shell/fish.ts";
import { zshScript } from "../shell/zsh.ts";
import { type Command, type CommandGroup, EXIT, UsageError } from "../terminal/command.ts";

export const completionCommands: CommandGroup = {
  name: "completion",
  summary: "Print a script that completes commands, flags and values in your shell",
  commands: [
    shellCommand("bash", bashScript, "source <(convoke completion bash)"),
    shellCommand("zsh", zshScript, "source <(convoke completion zsh)"),
    shellCommand("fish", fishScript, "convoke completion fish | source"),
  ],
};

function shellCommand(
  shell: string,
  script: (table: readonly Completion[]) => string,
  example: string,
): Command {
  return {
    name: `completion ${shell}`,
    summary: `Print the script for ${shell}`,
    usage: "",
    examples: [example],
    options: {},
    more: "Its first lines say how to install it. It completes a convoke that is on the PATH.",
    run: async ({ io, positionals, commands }) => {
      if (positionals.length > 0) {
        throw new UsageError(`convoke completion ${shell} takes no arguments.`);
      }
      io.stdout(script(await completionTable(commands)));
      return EXIT.done.code;
    },
  };
}
