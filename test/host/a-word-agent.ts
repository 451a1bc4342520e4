import { createJsonLogger } from "@convoke/engine";
import { type Agent, type AgentServer, type ServeAgentOptions, defineAgent, serve } from "convoke";
import { onTestFinished } from "vitest";

/** An agent with two skills. */
export function aWordAgent(name: string): Agent {
  return defineAgent({
    name,
    description: `${name} works with words.`,
    skills: [
      { id: "rhyme", name: "Find rhymes", description: "Finds rhymes.", tags: ["Poetry"] },
      { id: "translate", name: "Translate", description: "English to French.", tags: ["words"] },
    ],
    scopes: { skills: { rhyme: ["secret-scope"] } },
    run: () => "Done.",
  });
}

/** Serves agents in memory until the test ends. */
export async function served(
  agents: Agent | readonly Agent[],
  options: ServeAgentOptions = {},
): Promise<AgentServer> {
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(agents, { port: 0, data: "memory", logger, ...options });
  onTestFinished(() => server.close());
  return server;
}
