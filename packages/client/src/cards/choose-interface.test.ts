import { createFetchClient } from "@convoke/egress/http";
import { expect, test } from "vitest";
import { createCredentials } from "../auth/credentials.ts";
import { listInterfaces } from "./card-interfaces.ts";
import { chooseInterfaces } from "./choose-interface.ts";

const cardUrl = "https://agent.example/.well-known/agent-card.json";

function offer(protocolBinding: string, url: string, more: object = {}) {
  return { url, protocolBinding, protocolVersion: "1.0", ...more };
}

test("1.0 comes before 0.3, and within a version the order of the card counts", () => {
  const card = {
    supportedInterfaces: [
      offer("JSONRPC", "/old", { protocolVersion: "0.3" }),
      offer("HTTP+JSON", "/rest"),
      offer("JSONRPC", "/new", { protocolVersion: "1.0.1" }),
    ],
  };

  expect(chooseInterfaces({ card, cardUrl })).toEqual([
    { url: "https://agent.example/rest", version: "1.0", binding: "HTTP+JSON" },
    { url: "https://agent.example/new", version: "1.0", binding: "JSONRPC" },
    { url: "https://agent.example/old", version: "0.3", binding: "JSONRPC" },
  ]);
});

test("preferred bindings are the only ones used, in that order", () => {
  const card = {
    supportedInterfaces: [
      offer("HTTP+JSON", "/rest"),
      offer("GRPC", "agent.example:50051"),
      offer("JSONRPC", "/rpc"),
    ],
  };

  expect(
    chooseInterfaces({ card, cardUrl }, { bindings: ["grpc", "rest"], hasGrpc: true }),
  ).toMatchObject([
    { binding: "GRPC", url: "https://agent.example:50051/" },
    { binding: "HTTP+JSON" },
  ]);
  expect(() => chooseInterfaces({ card, cardUrl }, { bindings: ["grpc"] })).toThrow(
    "no interface for grpc that this client supports; it offers HTTP+JSON 1.0 at /rest, " +
      "GRPC 1.0 at agent.example:50051, JSONRPC 1.0 at /rpc; gRPC is not available here",
  );
});

test("the tenant on a card is kept", () => {
  const card = { supportedInterfaces: [offer("JSONRPC", "/rpc", { tenant: "acme" })] };

  expect(chooseInterfaces({ card, cardUrl }, { version: "1.0" })).toEqual([
    { url: "https://agent.example/rpc", version: "1.0", binding: "JSONRPC", tenant: "acme" },
  ]);
});

test("one tenant is never replaced by another", () => {
  const card = {
    supportedInterfaces: [
      offer("JSONRPC", "/one", { tenant: "acme" }),
      offer("JSONRPC", "/two", { tenant: "beta" }),
      offer("JSONRPC", "/three"),
      offer("HTTP+JSON", "/four", { tenant: "acme" }),
      offer("JSONRPC", "/five", { protocolVersion: "0.3" }),
    ],
  };
  const pathsFor = (tenant?: string) =>
    chooseInterfaces({ card, cardUrl }, { tenant }).map(({ url }) => new URL(url).pathname);

  expect(pathsFor()).toEqual(["/one", "/four"]);
  expect(pathsFor("beta")).toEqual(["/two"]);
  expect(() => pathsFor("gamma")).toThrow('no interface for the tenant "gamma"');
});

test("a legacy card has its main interface first, and each once", () => {
  const card = {
    url: "https://agent.example/grpc",
    preferredTransport: "GRPC",
    additionalInterfaces: [
      { url: "https://agent.example/grpc", transport: "GRPC" },
      { url: "https://agent.example/rpc", transport: "JSONRPC" },
    ],
  };

  expect(chooseInterfaces({ card, cardUrl }, { hasGrpc: true })).toMatchObject([
    { url: "https://agent.example/grpc", version: "0.3", binding: "GRPC" },
    { url: "https://agent.example/rpc", version: "0.3", binding: "JSONRPC" },
  ]);
  expect(listInterfaces(card)).toHaveLength(2);
});

test("a hybrid card that declares 0.3 twice counts once", () => {
  const card = {
    url: "https://agent.example/",
    supportedInterfaces: [
      offer("JSONRPC", "https://agent.example/"),
      offer("JSONRPC", "https://agent.example", { protocolVersion: "0.3.0" }),
    ],
  };

  expect(chooseInterfaces({ card, cardUrl }).map(({ version }) => version)).toEqual(["1.0", "0.3"]);
});

test("an entry without a version is 1.0 only if nothing says 0.3", () => {
  const supportedInterfaces = [{ url: "/rpc", protocolBinding: "JSONRPC" }];
  const hybrid = { supportedInterfaces, url: "/old" };

  expect(chooseInterfaces({ card: { supportedInterfaces }, cardUrl })[0]?.version).toBe("1.0");
  expect(chooseInterfaces({ card: hybrid, cardUrl })).toEqual([
    { url: "https://agent.example/old", version: "0.3", binding: "JSONRPC" },
  ]);
});

test("if there is no usable interface the error lists what the card offers", () => {
  const card = {
    supportedInterfaces: [
      offer("WEBSOCKET", "https://agent.example/ws"),
      offer("JSONRPC", "file:///etc/passwd"),
      offer("JSONRPC", "https://ann:secret@agent.example/"),
      offer("JSONRPC", "https://agent.example/", { protocolVersion: "9.0" }),
    ],
  };

  expect(() => chooseInterfaces({ card, cardUrl })).toThrow(
    `the card at ${cardUrl} offers no interface that this client supports; it offers ` +
      "WEBSOCKET 1.0 at https://agent.example/ws, JSONRPC 1.0 at file:///etc/passwd",
  );
  expect(() => chooseInterfaces({ card: {}, cardUrl }, { version: "0.3" })).toThrow(
    "no interface of A2A 0.3 that this client supports; it offers none at all",
  );
});

test("a client with credentials calls only the origin that they are for", () => {
  const origin = "https://agent.example";
  const credentials = createCredentials({
    token: "secret",
    url: origin,
    client: createFetchClient(),
  });
  const away = offer("HTTP+JSON", "https://elsewhere.example/");
  const home = offer("JSONRPC", "https://AGENT.example:443/rpc");
  const both = { supportedInterfaces: [away, home] };

  expect(chooseInterfaces({ card: both, cardUrl }, { credentials })).toMatchObject([
    { url: "https://agent.example/rpc" },
  ]);
  expect(chooseInterfaces({ card: both, cardUrl })).toHaveLength(2);
  expect(() =>
    chooseInterfaces({ card: { supportedInterfaces: [away] }, cardUrl }, { credentials }),
  ).toThrow(
    "the credentials were not given for https://elsewhere.example, " +
      "but the card at https://agent.example lists only interfaces there",
  );
});

test("a key for the query cannot be sent via gRPC", () => {
  const origin = "https://agent.example";
  const apiKey = { in: "query", name: "key", value: "secret" } as const;
  const credentials = createCredentials({
    auth: { apiKey },
    url: origin,
    client: createFetchClient(),
  });
  const card = { supportedInterfaces: [offer("GRPC", origin), offer("JSONRPC", "/")] };

  expect(chooseInterfaces({ card, cardUrl }, { credentials, hasGrpc: true })).toMatchObject([
    { binding: "JSONRPC" },
  ]);
});

test.each([
  ["agent.example:50051", "https://agent.example/card.json", "https://agent.example:50051/"],
  ["agent.example:50051", "http://agent.example/card.json", "http://agent.example:50051/"],
  ["localhost:50051", "http://agent.example/card.json", "http://localhost:50051/"],
  ["[::1]:50051", "http://127.0.0.1/card.json", "http://[::1]:50051/"],
  ["other.example:443", "http://agent.example/card.json", "https://other.example/"],
  ["http://other.example:80", "https://agent.example/card.json", "http://other.example/"],
  ["grpcs://other.example", "http://agent.example/card.json", "https://other.example/"],
  ["/", "http://agent.example:8080/card.json", "http://agent.example:8080/"],
])("the gRPC address %s on a card of %s is %s", (url, from, expected) => {
  const card = { supportedInterfaces: [offer("GRPC", url)] };

  const [chosen] = chooseInterfaces({ card, cardUrl: from }, { hasGrpc: true });

  expect(chosen?.url).toBe(expected);
});
