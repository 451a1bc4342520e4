import { type ConnectOptions, type FollowOptions, connect } from "@convoke/client";
import type { CommandIo } from "../cli/command.ts";
import { printable } from "@convoke/protocol/internal";
import { quoted } from "../cli/quoted.ts";
import { AgentLink, type OpenAgent } from "./agent-link.ts";
import { ASKED_EXTENSIONS } from "./asked-extensions.ts";
import { offerAgent } from "./offer-agent.ts";
import { openFileAgent } from "./open-file-agent.ts";
import { takeProtocolStreams } from "./protocol-streams.ts";
import type { Elsewhere } from "./waiting-words.ts";

/** Which agent, and how it is spoken to. */
export type McpRequest = {
  readonly io: CommandIo;
  readonly reconnect: Pick<FollowOptions, "reconnect">;
} & (
  | { readonly url: string; readonly connecting: ConnectOptions }
  | { readonly url?: undefined; readonly file: string; readonly data: string | undefined }
);

/** Offers an agent over standard input and output, and resolves when the host is gone. */
export async function runMcp(request: McpRequest): Promise<void> {
  // Before an agent is loaded, because that may print already.
  const streams = takeProtocolStreams();
  const { io } = request;
  const { open, elsewhere, close } = await agentOf(request);
  try {
    const link = await AgentLink.open(open);
    const note = (message: string): void => io.stderr(`${printable(message)}\n`);
    const { reconnect } = request.reconnect;
    await offerAgent({ link, streams, signal: io.signal, elsewhere, reconnect, note });
    link.close();
  } finally {
    await close();
  }
}

interface OfferedAgent {
  readonly open: OpenAgent;
  readonly elsewhere: Elsewhere;
  readonly close: () => Promise<void>;
}

async function agentOf(request: McpRequest): Promise<OfferedAgent> {
  if (request.url === undefined) {
    const { open, close } = await openFileAgent(request);
    return { open, close, elsewhere: besideFile(request.file) };
  }
  const { url, connecting } = request;
  // After a restart the card may be another one, whatever the server said about keeping it.
  const open = () => connect(url, { ...connecting, extensions: ASKED_EXTENSIONS, cache: false });
  return { open, close: () => Promise.resolve(), elsewhere: commandsFor(url) };
}

function commandsFor(url: string): Elsewhere {
  return {
    decide: (id) => `convoke approvals answer ${quoted(url)} ${quoted(id)} --approve`,
    answer: (taskId) => `convoke send ${quoted(url)} --task ${quoted(taskId)} -`,
  };
}

/** One process at a time has the data of an agent, so this one has to end first. */
function besideFile(file: string): Elsewhere {
  const { decide, answer } = commandsFor("http://127.0.0.1:3000");
  const serve = `end this MCP server, run "convoke serve ${quoted(file)}", and then`;
  return {
    decide: (id) => `${serve} "${decide(id)}".`,
    answer: (taskId) => `${serve} "${answer(taskId)}".`,
  };
}
