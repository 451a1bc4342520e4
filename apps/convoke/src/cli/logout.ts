import { refuseText, urlOf } from "./agent-options.ts";
import type { Command, CommandContext } from "./command.ts";
import { openCredentials } from "./credentials/open-credentials.ts";
import { EXIT } from "./exit-code.ts";
import { note } from "./note.ts";

export const logoutCommand: Command = {
  name: "logout",
  summary: "Forget the token of an origin",
  usage: "<url> [options]",
  examples: ["convoke logout https://agent.example"],
  options: { json: { type: "boolean", help: "Print remarks as JSON" } },
  environment: { XDG_CONFIG_HOME: "Where convoke/credentials.json is (~/.config)" },
  run: logout,
};

async function logout(context: CommandContext): Promise<number> {
  const { origin } = new URL(urlOf(context));
  refuseText(context);
  const wasThere = openCredentials(context.io.env).remove(origin);
  note(
    context,
    wasThere ? `The token for ${origin} is forgotten.` : `There was no token for ${origin}.`,
  );
  return EXIT.done.code;
}
