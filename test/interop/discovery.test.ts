import { DefaultAgentCardResolver as CardResolverV03 } from "a2a-sdk-v03/client";
import { DefaultAgentCardResolver as CardResolverV1 } from "a2a-sdk-v1/client";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useDemoServer } from "./demo-server.ts";
import type { Sdk } from "./sdk-client.ts";
import { SDK_V03 } from "./sdk-v03.ts";
import { SDK_V1 } from "./sdk-v1.ts";
import { asTask, collect, textOfTask } from "./story.ts";

const TOKEN = "interop-token-0123456789";

const open = useDemoServer();
const guarded = useDemoServer({ token: TOKEN });

for (const sdk of [SDK_V03, SDK_V1]) {
  describe(sdk.name, () => {
    verifies(["R79", "R80"], "finds the agent by its card", async () => {
      const client = await sdk.discover(open.url);

      expect(client.agentName).toBe("Convoke Demo");
      expect(asTask(await client.send("hello")).state).toBe("completed");
    });

    verifies(
      ["R114", "R116"],
      "is rejected without the token that the server requires",
      async () => {
        const client = await sdk.discover(guarded.url);

        await expect(client.send("hello")).rejects.toThrow("a bearer token is required");
        await expect(collect(client.stream("hello"))).rejects.toThrow("a bearer token is required");
        await expect(client.get("any")).rejects.toThrow("a bearer token is required");
      },
    );

    verifies("R114", "is served with the token", async () => {
      const client = await sdk.discover(guarded.url, withToken(sdk, TOKEN));

      const task = asTask(await client.send("hello"));
      const streamed = await collect(client.stream("slow 2"));

      expect(textOfTask(task)).toContain("You said: hello.");
      expect(streamed.at(-1)).toMatchObject({ kind: "status", state: "completed" });
    });

    verifies("R114", "is rejected with another token", async () => {
      const client = await sdk.discover(guarded.url, withToken(sdk, "not-the-token"));

      await expect(client.send("hello")).rejects.toThrow("the bearer token is not valid");
    });

    verifies("R114", "sends its token only after a 401", async () => {
      const statuses: number[] = [];
      const fetchImpl = sdk.authenticate(fetch, {
        headers: async () => ({}),
        shouldRetryWithHeaders: async (_request, response) => {
          statuses.push(response.status);
          return response.status === 401 ? bearer(TOKEN) : undefined;
        },
      });
      const client = await sdk.discover(guarded.url, fetchImpl);

      const task = asTask(await client.send("hello"));

      expect(task.state).toBe("completed");
      // The card is public; sending a message is not.
      expect(statuses).toEqual([200, 401]);
    });
  });
}

describe("a card with only one version", () => {
  const old = useDemoServer({ card: { form: "v03" } });
  const current = useDemoServer({ card: { form: "v1" } });

  verifies(["R79", "R80"], "is sufficient for the client of that version", async () => {
    const v03 = await SDK_V03.discover(old.url);
    const v1 = await SDK_V1.discover(current.url);

    expect(asTask(await v03.send("hello")).state).toBe("completed");
    expect(asTask(await v1.send("hello")).state).toBe("completed");
  });
});

describe("the card of a server that requires a token", () => {
  verifies("R115", "is understood by the resolver of 1.3.0", async () => {
    const card = await new CardResolverV1().resolve(guarded.url);

    const url = guarded.url.replace(/\/$/, "");
    const { host } = new URL(url);
    expect(card.supportedInterfaces).toMatchObject(
      ["1.0", "0.3"].flatMap((protocolVersion) => [
        { url, protocolBinding: "JSONRPC", protocolVersion },
        { url, protocolBinding: "HTTP+JSON", protocolVersion },
        { url: host, protocolBinding: "GRPC", protocolVersion },
      ]),
    );
    expect(card.securitySchemes["bearer"]?.scheme).toMatchObject({
      $case: "httpAuthSecurityScheme",
      value: { scheme: "bearer" },
    });
    expect(card.securityRequirements).toEqual([{ schemes: { bearer: { list: [] } } }]);
    expect(card.capabilities).toMatchObject({ streaming: true, pushNotifications: true });
  });

  // The resolver of 0.3.14 sends no version, so it gets the card that both versions understand.
  verifies("R115", "is understood by the resolver of 0.3.14", async () => {
    const card = await new CardResolverV03().resolve(guarded.url);

    expect(card).toMatchObject({
      protocolVersion: "0.3.0",
      url: guarded.url.replace(/\/$/, ""),
      preferredTransport: "JSONRPC",
      capabilities: { streaming: true, pushNotifications: true },
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      security: [{ bearer: [] }],
    });
  });
});

function withToken(sdk: Sdk, token: string): typeof fetch {
  return sdk.authenticate(fetch, {
    headers: async () => bearer(token),
    shouldRetryWithHeaders: async () => undefined,
  });
}

function bearer(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}
