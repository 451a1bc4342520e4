import { type Attack, type AttackFamily, fellIf } from "../attack.ts";
import type { Target } from "../target.ts";
import { exchange, statusesIn } from "../wire/raw.ts";

/** The path of something public, so that an answer shows that a request was read. */
const CARD = "/.well-known/agent-card.json";

/** A second request that hides in the first one. */
function hidden(target: Target): string {
  return `GET ${CARD}?hidden HTTP/1.1\r\nHost: ${new URL(target.url).host}\r\nConnection: close\r\n\r\n`;
}

/** A request with a body whose end two readers see in different places. */
function smuggle(
  id: string,
  sentence: string,
  requests: (hiddenRequest: string, host: string) => readonly string[],
): Attack {
  return {
    id,
    sentence,
    run: async (target) => {
      const all = requests(hidden(target), new URL(target.url).host);
      const answers = await Promise.all(all.map((request) => exchange(target.url, request)));
      for (const [place, received] of answers.entries()) {
        const statuses = statusesIn(received);
        const line = all[place]!.split("\r\n").slice(2, 4).join(", ");
        fellIf(statuses.length > 1, `two requests were read (${statuses.join(", ")}): ${line}`);
        fellIf(statuses[0] !== undefined && statuses[0] >= 500, `${statuses[0]}: ${line}`);
      }
    },
  };
}

/** A malformed request must be an error, if it is answered at all. */
function malformed(
  id: string,
  sentence: string,
  requests: (host: string) => readonly string[],
): Attack {
  return {
    id,
    sentence,
    run: async (target) => {
      const all = requests(new URL(target.url).host);
      const answers = await Promise.all(all.map((request) => exchange(target.url, request)));
      for (const [place, received] of answers.entries()) {
        const [status = 400] = statusesIn(received);
        const shown = JSON.stringify(all[place]!.slice(0, 70));
        fellIf(status < 400, `${status} for ${shown}`);
        fellIf(status >= 500 && status !== 501 && status !== 505, `${status} for ${shown}`);
      }
    },
  };
}

function post(host: string, headers: string, body: string): string {
  return `POST / HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n\r\n${body}`;
}

function get(host: string, headers: string): string {
  return `GET ${CARD} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${headers}\r\n\r\n`;
}

export const HTTP1: AttackFamily = {
  title: "HTTP/1.1",
  attacks: [
    smuggle(
      "http-length-and-chunked",
      "Send Content-Length and Transfer-Encoding together.",
      (inner, host) => [
        post(host, `Content-Length: 4\r\nTransfer-Encoding: chunked`, `0\r\n\r\n${inner}`),
        post(
          host,
          `Transfer-Encoding: chunked\r\nContent-Length: ${inner.length + 5}`,
          `0\r\n\r\n${inner}`,
        ),
      ],
    ),
    smuggle(
      "http-obscured-chunked",
      "Write Transfer-Encoding so that only one reader understands it.",
      (inner, host) =>
        [
          "Transfer-Encoding: xchunked",
          "Transfer-Encoding : chunked",
          "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
          "Transfer-Encoding: identity, chunked, identity",
          "Transfer-Encoding:\tchunked\r\nContent-Length: 4",
          "Transfer-Encoding: chu\0nked",
          "X: y\r\n Transfer-Encoding: chunked",
        ].map((line) => post(host, line, `0\r\n\r\n${inner}`)),
    ),
    smuggle("http-two-lengths", "Send two different Content-Length headers.", (inner, host) => [
      post(host, `Content-Length: 0\r\nContent-Length: ${inner.length}`, inner),
      post(host, `Content-Length: 0, ${inner.length}`, inner),
    ]),
    smuggle(
      "http-odd-length",
      "Write Content-Length as something other than digits.",
      (inner, host) =>
        ["+0", "-1", "0x0", "0 0", "1e0", "０", "99999999999999999999"].map((length) =>
          post(host, `Content-Length: ${length}`, inner),
        ),
    ),
    smuggle(
      "http-chunk-sizes",
      "Send chunk sizes that overflow, are negative or end early.",
      (inner, host) =>
        ["FFFFFFFFFFFFFFFF0", "-1", "0x0", "0;a\nb", "+0", " 0", "0\n"].map((size) =>
          post(host, "Transfer-Encoding: chunked", `${size}\r\n\r\n${inner}`),
        ),
    ),
    smuggle("http-length-of-get", "Hide a request in the body of a GET.", (inner, host) => [
      `GET /nothing HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
    ]),
    malformed("http-line-ends", "End lines with a bare CR or LF.", (host) => [
      `GET ${CARD} HTTP/1.1\rHost: ${host}\r\r`,
      `GET ${CARD} HTTP/1.1\nHost: ${host}\nConnection: close\n\n`,
      get(host, "X-A: b\rX-C: d"),
    ]),
    malformed("http-folding", "Fold a header over two lines.", (host) => [
      get(host, "X-A: b\r\n c"),
      get(host, "Authorization: Bearer\r\n\tx"),
    ]),
    malformed(
      "http-header-names",
      "Send header names with spaces, null bytes or none at all.",
      (host) => [
        get(host, "X A: b"),
        get(host, "X-A : b"),
        get(host, ": b"),
        get(host, "X\0A: b"),
        get(host, "X-A: b\0c"),
      ],
    ),
    malformed("http-header-bomb", "Send ten thousand headers, or one of a megabyte.", (host) => [
      get(host, Array.from({ length: 10_000 }, (_, place) => `X-${place}: y`).join("\r\n")),
      get(host, `X-A: ${"b".repeat(1_000_000)}`),
      get(host, `Cookie: ${"a=b; ".repeat(50_000)}`),
    ]),
    malformed("http-long-url", "Send a URL of a megabyte.", (host) => [
      `GET /${"a".repeat(1_000_000)} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      `GET ${CARD}?${"a=b&".repeat(250_000)} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    ]),
    malformed("http-versions", "Send requests of versions that do not exist.", (host) => [
      `GET ${CARD} HTTP/9.9\r\nHost: ${host}\r\n\r\n`,
      `GET ${CARD} HTTP/1.1.1\r\nHost: ${host}\r\n\r\n`,
      `GET ${CARD} FTP/1.1\r\nHost: ${host}\r\n\r\n`,
    ]),
    malformed("http-hosts", "Send no Host header, two, or one that is no host.", (host) => [
      `GET ${CARD} HTTP/1.1\r\nConnection: close\r\n\r\n`,
      `GET ${CARD} HTTP/1.1\r\nHost: evil.example\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      `GET ${CARD} HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
    ]),
    {
      id: "http-pipeline",
      sentence: "Send a thousand requests in one packet.",
      run: async (target) => {
        const { host } = new URL(target.url);
        const one = `GET ${CARD} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
        const received = await exchange(target.url, one.repeat(999) + get(host, "X-A: last"));
        const statuses = statusesIn(received);
        fellIf(
          statuses.some((status) => status >= 500),
          "one was answered with a 5xx",
        );
        fellIf(statuses.length > 1000, "there were more answers than requests");
      },
    },
    malformed("http-expectation", "Expect something that does not exist.", (host) => [
      post(host, "Expect: 200-everything\r\nContent-Length: 5\r\nConnection: close", "12345"),
    ]),
  ],
};
