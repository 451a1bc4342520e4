import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Effect } from "./effect.ts";
import { greetParent } from "./greet-parent.ts";

// The world outside: a process that no crash of the server touches. It counts what is done to it,
// every single time, and tells whoever does something in which phase the test is.

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
  greetParent(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
