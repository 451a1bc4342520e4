import { type IncomingHttpHeaders, request as open } from "node:http";
import { text as readText } from "node:stream/consumers";

/** A request that `fetch` would not send: with any host, or an endless body. */
interface RawRequest {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: Iterable<Uint8Array>;
}

interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends a request byte by byte as the test requires, and reads the response even while sending. */
export function exchange({ url, method = "GET", headers, body }: RawRequest): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    const request = open(url, { method, agent: false, ...(headers && { headers }) });
    request.on("response", (answer) => {
      isAnswered = true;
      readText(answer).then((text) => {
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text });
        request.destroy();
      }, reject);
    });
    // Once the response is arriving, a rejected sender expects to be cut off.
    request.on("error", (error) => {
      if (!isAnswered) reject(error);
    });
    send(request, body ?? []).catch(reject);
  });
}

/** Writes no faster than the other side reads. */
async function send(request: ReturnType<typeof open>, body: Iterable<Uint8Array>): Promise<void> {
  for (const piece of body) {
    if (request.destroyed) return;
    if (!request.write(piece)) {
      await new Promise<void>((resolve) => {
        const goOn = (): void => {
          request.off("drain", goOn).off("close", goOn);
          resolve();
        };
        request.on("drain", goOn).on("close", goOn);
      });
    }
  }
  request.end();
}
