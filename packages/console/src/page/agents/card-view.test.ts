import { describe, expect, test } from "vitest";
import { readCard } from "./card-view.ts";

describe("a card", () => {
  test("of either version says the same", () => {
    const common = {
      name: "Poet",
      description: "Writes.",
      version: "2",
      capabilities: { streaming: true, pushNotifications: false },
      defaultInputModes: ["text/plain"],
      skills: [
        { id: "ode", name: "Ode", description: "An ode.", tags: ["long"], examples: ["sea"] },
      ],
    };
    const old = readCard({
      ...common,
      url: "https://a.example/",
      preferredTransport: "JSONRPC",
      securitySchemes: { main: { type: "http", scheme: "bearer" } },
    });
    const current = readCard({
      ...common,
      supportedInterfaces: [
        { url: "https://a.example/", protocolBinding: "JSONRPC", protocolVersion: "0.3" },
      ],
      securitySchemes: { main: { httpAuthSecurityScheme: { scheme: "bearer" } } },
    });

    expect({ ...current, security: [] }).toEqual({ ...old, security: [] });
    expect(old.security).toEqual(["main (http, bearer)"]);
    expect(current.security).toEqual(["main (httpAuth, bearer)"]);
    expect(old).toMatchObject({
      capabilities: ["streaming"],
      interfaces: [{ how: "JSONRPC 0.3", url: "https://a.example/" }],
      skills: [{ name: "Ode", examples: ["sea"], tags: ["long"] }],
    });
  });

  test("with fields of other types, or with text that deceives, is still readable", () => {
    const view = readCard({
      name: "bank\u202Eknab",
      version: 7,
      skills: [null, { id: "a", tags: "x", examples: [1, "b"] }],
      capabilities: [],
      signatures: "no",
    });

    expect(view).toMatchObject({ name: "bankknab", version: "", capabilities: [], signatures: 0 });
    expect(view.skills).toEqual([{ name: "a", description: "", tags: [], examples: ["b"] }]);
  });
});
