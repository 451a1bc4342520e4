import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { report } from "./control.ts";
import { SSE_HEADERS, readJson } from "./listen.ts";
import { parseOrder, tokenText } from "./order.ts";

/**
 * Simulates a provider that answers with as many tokens as the message says, in a process whose CPU is
 * not counted. Each token is an event in a chunk of its own, as with real providers, but all are sent
 * at once: how many of them a reader finds at a time would otherwise depend on which process is
 * faster at the moment, and doubles the cost of a token in every stage.
 */
const server = createServer((request: IncomingMessage, response: ServerResponse) => {
  readJson(request, (body) => {
    const { count } = parseOrder(lastText(body as Body));
    response.writeHead(200, SSE_HEADERS);
    response.socket?.cork();
    for (let place = 0; place < count; place++) {
      response.write(frame([{ index: 0, delta: { content: tokenText(place) } }]));
    }
    response.write(frame([{ index: 0, delta: {}, finish_reason: "stop" }]));
    response.write(
      frame([], { prompt_tokens: 10, completion_tokens: count, total_tokens: count + 10 }),
    );
    response.end("data: [DONE]\n\n");
    response.socket?.uncork();
  });
});

interface Body {
  readonly messages: readonly { readonly content: string | readonly { readonly text: string }[] }[];
}

function lastText({ messages }: Body): string {
  const content = messages.at(-1)?.content ?? "";
  return typeof content === "string" ? content : (content[0]?.text ?? "");
}

function frame(choices: readonly object[], usage?: object): string {
  const chunk = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "tokens" };
  return `data: ${JSON.stringify({ ...chunk, choices, usage })}\n\n`;
}

server.listen(0, "127.0.0.1", () =>
  report(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1#tokens`),
);
