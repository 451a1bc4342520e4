import { type ConnectOptions, type RemoteAgent, connect } from "@convoke/client";
import { urlOf } from "./agent-options.ts";
import type { CommandContext } from "./command.ts";
import { connectOptions } from "./connect-options.ts";

/**
 * Connects to the agent at the address that was typed, for as long as the work
 * takes. Who reads standard input as well gets the options before that: its
 * first line may be a password.
 */
export async function withAgent<T>(
  context: CommandContext,
  work: (agent: RemoteAgent) => Promise<T>,
  options?: ConnectOptions,
): Promise<T> {
  const agent = await connect(urlOf(context), options ?? (await connectOptions(context)));
  try {
    return await work(agent);
  } finally {
    agent.close();
  }
}
