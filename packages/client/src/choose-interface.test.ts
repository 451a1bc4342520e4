import { expect, test } from "vitest";
import { chooseInterface, interfacesOf } from "./choose-interface.ts";

const cardUrl = "https://agent.example/.well-known/agent-card.json";

test("1.0 comes before 0.3, whatever the order of the card", () => {
  const card = {
    supportedInterfaces: [
      { url: "https://agent.example/old", protocolBinding: "JSONRPC", protocolVersion: "0.3" },
      { url: "https://agent.example/rest", protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
      { url: "https://agent.example/new", protocolBinding: "JSONRPC", protocolVersion: "1.0.1" },
    ],
  };

  expect(chooseInterface({ card, cardUrl }, undefined)).toEqual({
    url: "https://agent.example/new",
    version: "1.0",
  });
});

test("the tenant that a card names is kept", () => {
  const card = {
    supportedInterfaces: [
      { url: "/rpc", protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "acme" },
    ],
  };

  expect(chooseInterface({ card, cardUrl }, "1.0")).toEqual({
    url: "https://agent.example/rpc",
    version: "1.0",
    tenant: "acme",
  });
});

test("a legacy card that prefers another transport may still have JSON-RPC beside it", () => {
  const card = {
    url: "https://agent.example/grpc",
    preferredTransport: "GRPC",
    additionalInterfaces: [
      { url: "https://agent.example/grpc", transport: "GRPC" },
      { url: "https://agent.example/rpc", transport: "JSONRPC" },
    ],
  };

  expect(chooseInterface({ card, cardUrl }, undefined)).toEqual({
    url: "https://agent.example/rpc",
    version: "0.3",
  });
  expect(interfacesOf(card)).toHaveLength(2);
});

test("an entry without a version is 1.0 only where nothing says 0.3", () => {
  const supportedInterfaces = [{ url: "/rpc", protocolBinding: "JSONRPC" }];
  const hybrid = { supportedInterfaces, url: "/old" };

  expect(chooseInterface({ card: { supportedInterfaces }, cardUrl }, undefined).version).toBe(
    "1.0",
  );
  expect(chooseInterface({ card: hybrid, cardUrl }, undefined)).toEqual({
    url: "https://agent.example/old",
    version: "0.3",
  });
});

test("without JSON-RPC the error names what the card offers", () => {
  const card = {
    supportedInterfaces: [
      { url: "https://agent.example/rest", protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
      { url: "file:///etc/passwd", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    ],
  };

  expect(() => chooseInterface({ card, cardUrl }, undefined)).toThrow(
    `the card at ${cardUrl} offers no JSON-RPC interface; ` +
      "it offers HTTP+JSON 1.0 at https://agent.example/rest, JSONRPC 1.0 at file:///etc/passwd",
  );
  expect(() => chooseInterface({ card: {}, cardUrl }, "0.3")).toThrow(
    "no JSON-RPC interface of A2A 0.3; it offers none at all",
  );
});
