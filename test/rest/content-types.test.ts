import { describe, expect, test } from "vitest";
import { useServer } from "../wire/wire-server.ts";
import { RestClient } from "./rest-client.ts";
import { PROTO_03, V1 } from "./rest-dialect.ts";

const server = useServer();

const A2A = "application/a2a+json";
const JSON_TYPE = "application/json";

describe("a response in 1.0", () => {
  const client = new RestClient(server, V1);

  for (const [accept, type] of [
    ["application/json", JSON_TYPE],
    ["Application/JSON; charset=utf-8", JSON_TYPE],
    ["application/json, text/plain", JSON_TYPE],
    ["application/json, application/a2a+json;q=0", JSON_TYPE],
    ["application/a2a+json", A2A],
    ["application/a2a+json, application/json", A2A],
    ["application/json, */*;q=0.1", A2A],
    ["application/*", A2A],
    ["*/*", A2A],
    ["text/event-stream", A2A],
    ["application/json;q=0, text/html", A2A],
    ["", A2A],
  ] as const) {
    test(`is ${type} for a client that accepts ${JSON.stringify(accept)}, also if it is an error`, async () => {
      const sent = await client.post("message:send", client.sending("hello"), { accept });
      const error = await client.get("tasks/nobody", { accept });
      const refused = await client.ask("tasks", { method: "PUT", headers: { accept } });

      expect(sent.headers.get("content-type")).toBe(type);
      expect(error.headers.get("content-type")).toBe(type);
      expect(refused.headers.get("content-type")).toBe(type);
    });
  }
});

describe("a response in 0.3", () => {
  const client = new RestClient(server, PROTO_03);

  for (const accept of [A2A, JSON_TYPE, "*/*", "text/html"]) {
    test(`is application/json for a client that accepts ${accept}`, async () => {
      const sent = await client.post("message:send", client.sending("hello"), { accept });
      const error = await client.get("tasks/nobody", { accept });

      expect(sent.headers.get("content-type")).toBe(JSON_TYPE);
      expect(error.headers.get("content-type")).toBe(JSON_TYPE);
    });
  }
});
