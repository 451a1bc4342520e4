import {
  A2AError,
  ClientError,
  declaredTools,
  EXTENSIONS,
  type Message,
  type Metadata,
  type RawCard,
} from "@convoke/protocol";
import { declaresExtension } from "../cards/declares-extension.ts";
import type { ClientTool } from "./client-tool.ts";

const { uri: CLIENT_TOOLS } = EXTENSIONS.clientTools;

/** Refuses what cannot be declared, before anything is said: the agent would refuse it as well. */
export function checkTools(tools: readonly ClientTool[]): void {
  for (const [place, tool] of tools.entries()) {
    if (typeof tool?.run === "function") continue;
    throw new TypeError(`tools[${place}] needs a run function: { name, description, run }`);
  }
  try {
    declaredTools(declaration(tools));
  } catch (error) {
    if (!A2AError.is(error)) throw error;
    // By the name that they have here, not by their place in the message.
    throw new TypeError(error.detail.replace(/^.*?\]\.(?=tools)/, ""), { cause: error });
  }
}

/** Refuses an agent that would never call a tool of its caller: whoever gives some relies on them. */
export function refuseWithout(card: RawCard, url: string): void {
  if (declaresExtension(card, CLIENT_TOOLS)) return;
  throw new ClientError(
    "unsupported",
    `the agent at ${url} uses no tools of its callers: its card does not declare ${CLIENT_TOOLS}. ` +
      "Leave tools out to speak to it without them",
  );
}

/** The message with what the agent may call. */
export function withTools(message: Message, tools: readonly ClientTool[]): Message {
  return { ...message, metadata: { ...message.metadata, ...declaration(tools) } };
}

/** What a request asks for so that its tools count. */
export function withExtension(extensions: readonly string[] = []): readonly string[] {
  return [...extensions, CLIENT_TOOLS];
}

function declaration(tools: readonly ClientTool[]): Metadata {
  const declared = tools.map(({ name, description, inputSchema }) => ({
    name,
    ...(description !== undefined && { description }),
    ...(inputSchema !== undefined && { inputSchema }),
  }));
  return { [CLIENT_TOOLS]: { tools: declared } };
}
