import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Effect } from "./effect.ts";
import { reportReady } from "./report-ready.ts";

// The world outside the server, in a process that survives its kills. It records every effect,
// including repetitions, and responds with the current phase of the test.

const effects: Effect[] = [];
let phase = 0;

const server = createServer((request, response) => {
  void text(request).then((body) => {
    if (request.method === "POST" && request.url === "/effects") {
      effects.push(JSON.parse(body) as Effect);
      response.end(JSON.stringify({ phase }));
    } else if (request.method === "POST" && request.url === "/phase") {
      phase = Number(body);
      response.end();
    } else {
      response.end(JSON.stringify(effects));
    }
  });
});

server.listen(0, "127.0.0.1", () => {
  reportReady(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
