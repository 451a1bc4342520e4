import { OPERATIONS } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { FORMAL, extensionAgent } from "./extension-agent.ts";

const server = useServer(extensionAgent());

/** The methods of 0.3 §7 and §11.1.3; there are no others in its namespaces. */
const OFFICIAL = [
  "agent/authenticatedExtendedCard",
  "agent/getAuthenticatedExtendedCard",
  "message/send",
  "message/stream",
  "tasks/cancel",
  "tasks/get",
  "tasks/pushNotificationConfig/delete",
  "tasks/pushNotificationConfig/get",
  "tasks/pushNotificationConfig/list",
  "tasks/pushNotificationConfig/set",
  "tasks/resubscribe",
];

describe("methods", () => {
  verifies("v03-S18", "of our own cannot clash with official ones: there are none", () => {
    const names = Object.values(OPERATIONS).flatMap(({ methods03 }) => [...methods03]);

    expect(names.toSorted()).toEqual(OFFICIAL);
  });

  verifies(
    ["v03-S18", "v1-S32"],
    "of an extension do not exist just because it is active",
    async () => {
      for (const method of ["example.formality/set", "convoke.dev/skill/list"]) {
        const answer = await fetch(server.url, {
          method: "POST",
          headers: { "content-type": "application/json", "x-a2a-extensions": FORMAL },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: {} }),
        });

        expect(await answer.json()).toMatchObject({ id: 1, error: { code: -32601 } });
      }
    },
  );
});
