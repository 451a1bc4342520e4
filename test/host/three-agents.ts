import { type Agent, defineAgent } from "convoke";
import { scriptedModel } from "@convoke/runtime/testing";
import { aGuardedTool } from "../approvals/a-guarded-tool.ts";
import type { Peer } from "../conformance/speaker.ts";

/** Says who it is and how much of the conversation it remembers, or asks if it is asked to. */
export function aTalker(name: string): Agent {
  return defineAgent({
    name,
    description: `Speaks as ${name}.`,
    async *run({ text, ask, conversation }) {
      if (text.includes("ask")) yield `${name} heard ${await ask("What now?")}.`;
      else yield `${name} remembers ${conversation.length} messages.`;
    },
  });
}

/** Asks for an approval before it deletes. */
export function aDeleter(name: string): Agent {
  const calls = [{ kind: "tool-call", toolName: "delete", input: { path: "a" } }] as const;
  const model = scriptedModel(Array.from({ length: 100 }, () => calls));
  return defineAgent({ name, description: "Deletes.", model, tools: [aGuardedTool().guarded] });
}

/** The place of an agent on a server, whose URL is known once the tests run. */
export function agentAt(server: Peer, id: string): Peer {
  return {
    get url() {
      return `${server.url}agents/${id}/`;
    },
  };
}
