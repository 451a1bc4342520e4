import type { RequestListener, ServerResponse } from "node:http";
import { SSE_HEADERS, readJson } from "./listen.ts";

/** The result of the SDK's handler: one response, or a stream of them. */
type SdkAnswer = object | AsyncIterable<object>;

/**
 * The SDK's framework-neutral handler on bare `node:http`, writing as its own Express adapter does:
 * the first event, then one `write` each. Without Express it is cheaper than what its users run.
 */
export function sdkListener(handle: (body: object) => Promise<SdkAnswer>): RequestListener {
  return (request, response) => {
    readJson(request, (body) => void handle(body as object).then((said) => answer(said, response)));
  };
}

async function answer(said: SdkAnswer, response: ServerResponse): Promise<void> {
  if (!(Symbol.asyncIterator in said)) {
    const text = JSON.stringify(said);
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
    });
    response.end(text);
    return;
  }
  for await (const event of said) {
    if (!response.headersSent) response.writeHead(200, SSE_HEADERS);
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}
