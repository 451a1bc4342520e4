import { type Random, below, noise, pick, shuffled, spoiltBytes, times } from "./dice.ts";
import { BODIES, PATHS } from "./port-requests.ts";

/** What a client sends on one HTTP/1 connection: up to four requests, most of them nearly valid. */
export function http1Bytes(random: Random): Buffer {
  const requests = times(1 + below(4, random), () => request(random));
  const bytes = Buffer.concat(requests);
  return random() < 0.3 ? spoiltBytes(bytes, random) : bytes;
}

function request(random: Random): Buffer {
  const body = pick(BODIES, random);
  const { headers, bytes } = pick(FRAMINGS, random)(body, random);
  const chosen = times(below(3, random), () => pick(HEADERS, random));
  const all = shuffled(["Host: localhost", "Content-Type: application/json", ...chosen], random);
  const end = random() < 0.05 ? "\n" : "\r\n";
  const head = [requestLine(random), ...all, ...headers, "", ""].join(end);
  return Buffer.concat([Buffer.from(head, "latin1"), bytes]);
}

function requestLine(random: Random): string {
  if (random() < 0.1) return pick(BROKEN_LINES, random);
  const method = pick(METHODS, random);
  const version = random() < 0.9 ? "1.1" : pick(["1.0", "0.9", "2.0", "9.9", "1.", ""], random);
  return `${method} ${pick(PATHS, random)} HTTP/${version}`;
}

const METHODS = ["POST", "POST", "POST", "GET", "GET", "HEAD", "OPTIONS", "PUT", "DELETE"].concat([
  "CONNECT",
  "TRACE",
  "PURGE",
  "get",
  "PROPFIND",
]);

const BROKEN_LINES = [
  "",
  "GET",
  "GET /",
  "GET  / HTTP/1.1",
  "GET / / HTTP/1.1",
  " GET / HTTP/1.1",
  "PRO / HTTP/1.1",
  "PRI * HTTP/1.1",
  "GET \u0000 HTTP/1.1",
  `GET /${"a".repeat(20_000)} HTTP/1.1`,
  "CONNECT localhost:80 HTTP/1.1",
  "GET http://localhost/ HTTP/1.1",
  "GET http://[::1 HTTP/1.1",
  "OPTIONS * HTTP/1.1",
];

const HEADERS = [
  "Accept: text/event-stream",
  "Connection: close",
  "Connection: keep-alive, close",
  "Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x",
  "Expect: 100-continue",
  "Expect: 200-ok",
  "Host: evil.example",
  "Host:",
  "Authorization: Bearer x",
  "Content-Type: application/grpc",
  "Origin: null",
  "Last-Event-ID: 9999999999999999999999",
  "X-Forwarded-For: \u00ff\u00fe",
  "No-Colon",
  ": no-name",
  "Bad Name: x",
  "Folded: a\r\n b\r\n\tc",
  "Null: a\u0000b",
  `Long: ${"x".repeat(5000)}`,
  `Too-Long: ${"x".repeat(20_000)}`,
  times(150, (index) => `X-${index}: ${index}`).join("\r\n"),
  "Trailer: X-End",
  "TE: trailers, gzip",
];

interface Framed {
  readonly headers: readonly string[];
  readonly bytes: Buffer;
}

/** The ways to declare the end of a body, right and wrong ones. */
const FRAMINGS: readonly ((body: Buffer, random: Random) => Framed)[] = [
  (bytes) => ({ headers: [`Content-Length: ${bytes.length}`], bytes }),
  (bytes) => ({ headers: [`Content-Length: ${bytes.length}`], bytes }),
  () => ({ headers: [], bytes: Buffer.alloc(0) }),
  (body) => ({ headers: ["Transfer-Encoding: chunked"], bytes: chunked(body) }),
  (body, random) => ({
    headers: ["Transfer-Encoding: chunked"],
    bytes: spoiltBytes(chunked(body), random),
  }),
  (bytes, random) => ({
    headers: [`Content-Length: ${pick(LENGTHS, random)}`],
    bytes,
  }),
  (bytes) => ({ headers: ["Content-Length: 3", "Content-Length: 4"], bytes }),
  (bytes) => ({ headers: ["Content-Length: 3", "Transfer-Encoding: chunked"], bytes }),
  (bytes) => ({ headers: ["Transfer-Encoding: gzip, chunked, chunked"], bytes }),
  (_body, random) => ({
    headers: ["Transfer-Encoding: chunked"],
    bytes: Buffer.concat([
      Buffer.from(pick(CHUNK_HEADS, random), "latin1"),
      noise(below(50, random), random),
    ]),
  }),
];

const LENGTHS = ["-1", "0", "1", "+5", "0x10", "5 5", "999999999", "99999999999999999999", "five"];

const CHUNK_HEADS = [
  "ffffffff\r\n",
  "ffffffffffffffffffff\r\n",
  "-1\r\n",
  "g\r\n",
  "5;ext=1\r\nhello\r\n0\r\nX-End: 1\r\n\r\n",
  `5;${"e".repeat(20_000)}\r\n`,
  "5\r\nhelloXX",
  "0\r\nBad Trailer\r\n\r\n",
  "\r\n",
];

function chunked(body: Buffer): Buffer {
  const half = body.length >> 1;
  const chunks = [body.subarray(0, half), body.subarray(half)].filter(({ length }) => length > 0);
  const pieces = chunks.flatMap((chunk) => [
    Buffer.from(`${chunk.length.toString(16)}\r\n`),
    chunk,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...pieces, Buffer.from("0\r\n\r\n")]);
}
