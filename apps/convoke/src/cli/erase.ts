import { printableJson } from "@convoke/protocol/internal";
import { SERVER_OPTIONS, rejectMoreArguments } from "../connect/agent-options.ts";
import { askServer } from "../connect/ask-server.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { YES_OPTION, confirm } from "../terminal/confirm.ts";
import { isDatabaseError } from "../terminal/database-url.ts";
import { note } from "../terminal/output.ts";

export const eraseCommand: Command = {
  name: "erase",
  summary: "Erase everything about an owner or a conversation, for good",
  usage: "<url> --owner <name> [--context <id>] [options]",
  examples: [
    "convoke erase https://agent.example.com --owner ann",
    "convoke erase https://agent.example.com --owner ann --context 0198f3c2-63bd --yes",
    "convoke erase --data /var/lib/my-agent --owner ann",
  ],
  options: {
    owner: {
      type: "string",
      value: "<name>",
      help: "Whose data (default: your own; with --data it is required)",
    },
    context: {
      type: "string",
      value: "<id>",
      help: "Only this conversation of the owner (default: everything)",
    },
    tenant: { type: "string", value: "<name>", help: "The tenant of the owner" },
    data: {
      type: "string",
      value: "<folder or address>",
      help: "Instead of <url>: the data folder of a stopped server, or the address of a database; a server erases it when it starts, or within a minute if it runs",
    },
    ...YES_OPTION,
    ...SERVER_OPTIONS,
  },
  environment: {
    CONVOKE_TOKEN: "Bearer token, sent only to this machine and to the origin of CONVOKE_URL",
  },
  more: `Unfinished tasks are canceled. An erasure that has begun is finished after a crash, too. Backups, logs
and traces are not changed.`,
  run: erase,
};

async function erase(context: CommandContext): Promise<number> {
  const owner = context.text("owner");
  const contextId = context.text("context");
  if (owner === undefined && contextId === undefined) {
    throw new UsageError("convoke erase needs --owner or --context.");
  }
  const data = context.text("data");
  if (data !== undefined && owner === undefined) {
    throw new UsageError("convoke erase with --data needs --owner.");
  }
  const whose = owner === undefined ? "yours" : `of ${JSON.stringify(owner)}`;
  const what =
    contextId === undefined
      ? `everything ${whose}`
      : `the conversation ${JSON.stringify(contextId)} ${whose}`;
  if (!(await confirm(context, `Erase ${what} for good?`))) {
    note(context, "Nothing was erased.");
    return EXIT.interrupted.code;
  }
  const subject = {
    ...(owner !== undefined && { owner }),
    ...(contextId !== undefined && { contextId }),
  };
  if (data !== undefined) return requestStored(context, data, { ...subject, owner: owner! });
  rejectMoreArguments(context);
  const tenant = context.text("tenant");
  const answer = await askServer(context, {
    path: "/convoke/erasures",
    query: { ...(tenant !== undefined && { tenant }) },
    body: subject,
    about: "erasing data",
  });
  const count = Number(answer["tasks"]);
  if (context.flag("json")) context.io.stdout(`${printableJson(answer)}\n`);
  else
    note(context, `Erased ${count === 1 ? "1 task" : `${count} tasks`} and everything about them.`);
  return EXIT.done.code;
}

/** Records the erasure where the servers that use the storage find it: they also know the agents. */
async function requestStored(
  context: CommandContext,
  data: string,
  subject: { readonly owner: string; readonly contextId?: string },
): Promise<number> {
  const { openStoredTasks } = await import("../host/open-stored-tasks.ts");
  const { StartError } = await import("../host/config.ts");
  const { requestErasure } = await import("@convoke/engine");
  const tenant = context.text("tenant");
  const owner = tenant === undefined ? subject.owner : JSON.stringify([tenant, subject.owner]);
  try {
    const backend = await openStoredTasks(data);
    try {
      await requestErasure(backend, { ...subject, owner }, Date.now());
    } finally {
      await backend.close();
    }
    note(context, "Requested: a server that uses it erases it when it starts, or within a minute.");
    return EXIT.done.code;
  } catch (error) {
    if (!(error instanceof StartError) && !isDatabaseError(error)) throw error;
    note(context, error.message);
    return EXIT.notStarted.code;
  }
}
