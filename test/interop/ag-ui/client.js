// Run by a test: prints what AG-UI shows of an agent's answer, on its own and via its A2A middleware.
import { createRequire } from "node:module";
import { A2AAgent } from "@ag-ui/a2a";
import { A2AMiddlewareAgent } from "@ag-ui/a2a-middleware";
import { AbstractAgent, EventType } from "@ag-ui/client";
import { concatMap, delay, from, of } from "rxjs";

const [url, name, text] = process.argv.slice(2);
const require = createRequire(import.meta.resolve("@ag-ui/a2a"));
const { A2AClient } = await import(require.resolve("@a2a-js/sdk/client"));

const CALL = { toolCallId: "call-1", toolCallName: "send_message_to_a2a_agent" };

/** Calls the other agent once, and ends with its answer. */
class Orchestrator extends AbstractAgent {
  #hasCalled = false;

  clone() {
    return this;
  }

  run({ threadId, runId, messages }) {
    const args = JSON.stringify({ agentName: name, task: text });
    const toolCalls = [
      {
        id: CALL.toolCallId,
        type: "function",
        function: { name: CALL.toolCallName, arguments: args },
      },
    ];
    const said = { id: "m1", role: "assistant", toolCalls };
    // A snapshot: deltas would be added twice, because the middleware shares the messages of this agent.
    const call = [
      { type: EventType.TOOL_CALL_START, ...CALL, parentMessageId: "m1" },
      { type: EventType.TOOL_CALL_END, toolCallId: CALL.toolCallId },
      { type: EventType.MESSAGES_SNAPSHOT, messages: [...messages, said] },
    ];
    const isFirst = !this.#hasCalled;
    this.#hasCalled = true;
    return from([
      { type: EventType.RUN_STARTED, threadId, runId },
      ...(isFirst ? call : []),
      { type: EventType.RUN_FINISHED, threadId, runId },
      // The middleware looks for the call in the messages that it has made of earlier events.
    ]).pipe(concatMap((event) => of(event).pipe(delay(20))));
  }
}

const alone = new A2AAgent({
  a2aClient: new A2AClient(url),
  initialMessages: [{ id: "u1", role: "user", content: text }],
});
const { newMessages } = await alone.runAgent();

const results = [];
const orchestrationAgent = new Orchestrator({});
const middleware = new A2AMiddlewareAgent({ agentUrls: [url], orchestrationAgent });
await middleware.runAgent(
  {},
  {
    onEvent: ({ event }) => {
      if (event.type === EventType.TOOL_CALL_RESULT) results.push(JSON.parse(event.content));
    },
  },
);

const shown = newMessages.map(({ content }) => content);
process.stdout.write(JSON.stringify({ shown, results }));
