import { type AgentDefinition, defineAgent } from "convoke";
import { textOfParts } from "@convoke/protocol";
import { Gate } from "../wire/gate.ts";

const gates = new Map<string, Gate>();

/** What a task that received `wait <name>` waits for. */
export function gateOf(name: string): Gate {
  const gate = gates.get(name) ?? new Gate();
  gates.set(name, gate);
  return gate;
}

/**
 * An agent with one command for each behavior that a test needs; it returns any other message
 * unchanged, parts and metadata.
 */
export function conformanceAgent(more: Partial<AgentDefinition> = {}) {
  return defineAgent({
    name: "Parrot",
    description: "Hands back what it gets, and does a few tricks.",
    inputModes: ["*/*"],
    outputModes: ["*/*"],
    async *run({ text, task, message, conversation, signal, ask, authRequired, reply }) {
      const [habit, argument = ""] = text.split(" ");
      if (habit === "remember") {
        const said = conversation.map(({ role, parts }) => `${role}: ${textOfParts(parts)}`);
        return JSON.stringify({ said, referred: message.referenceTaskIds ?? [] });
      }
      if (habit === "ask") return `you said ${await ask("well?")}`;
      if (habit === "authorize") return `thanks for ${await authRequired("sign in first")}`;
      if (habit === "reply") return reply("just so");
      if (habit === "count") {
        for (let number = 1; number < Number(argument); number++) yield `${number} `;
        return argument;
      }
      if (habit === "wait") {
        yield "waiting ";
        await Promise.race([gateOf(argument).opened, aborted(signal)]);
        yield "and ";
        return "done";
      }
      return {
        kind: "artifact-update",
        taskId: task.id,
        contextId: task.contextId,
        artifact: {
          artifactId: "echo",
          name: "echo",
          parts: message.parts,
          ...(message.metadata && { metadata: message.metadata }),
        },
        append: false,
        lastChunk: true,
      };
    },
    ...more,
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}
