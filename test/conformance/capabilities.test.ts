import { connect } from "@convoke/client";
import { textOf } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { refusalOf } from "./refusal.ts";
import { speakersTo } from "./speakers.ts";

const plain = useServer(conformanceAgent(), { streaming: false, push: false });
const reserved = useServer(conformanceAgent(), {
  authenticate: () => ({ owner: "ann" }),
  extendedCard: () => undefined,
});
const open = useServer(conformanceAgent(), { extendedCard: () => ({ description: "Hidden." }) });

describe.each(speakersTo(plain))("over $binding $version", (speaker) => {
  verifies(
    ["v1-S28", "v03-S5"],
    "an extended card that the card does not declare is rejected as well",
    async () => {
      const { reason } = await refusalOf(speaker.call("getExtendedCard", {}));

      expect(reason).toBe(
        speaker.version === "1.0" ? "UnsupportedOperation" : "ExtendedAgentCardNotConfigured",
      );
    },
  );
});

describe.each(speakersTo(reserved))("over $binding $version", (speaker) => {
  verifies("v1-S28", "an extended card that is declared may be missing", async () => {
    const { reason } = await refusalOf(speaker.call("getExtendedCard", {}));

    expect(reason).toBe("ExtendedAgentCardNotConfigured");
  });
});

describe.each(speakersTo(open))("over $binding $version", (speaker) => {
  verifies(
    ["R19", "v1-S57"],
    "an agent that accepts every caller serves its extended card to none",
    async () => {
      const { reason } = await refusalOf(speaker.call("getExtendedCard", {}));

      expect(reason).toBe(
        speaker.version === "1.0" ? "UnsupportedOperation" : "ExtendedAgentCardNotConfigured",
      );
      expect(open.log.join("")).toContain("the extended card is not served");
    },
  );
});

verifies(["v1-S27", "v1-S28", "v03-S5"], "the card declares what is supported", async () => {
  const capabilities = async ({ url }: { readonly url: string }): Promise<unknown> => {
    const answer = await fetch(new URL("/.well-known/agent-card.json", url));
    return ((await answer.json()) as { readonly capabilities: unknown }).capabilities;
  };

  expect(await capabilities(plain)).toMatchObject({ streaming: false, pushNotifications: false });
  expect(await capabilities(plain)).not.toHaveProperty("extendedAgentCard");
  expect(await capabilities(open)).not.toHaveProperty("extendedAgentCard");
  expect(await capabilities(reserved)).toMatchObject({ streaming: true, extendedAgentCard: true });
});

test.each(["jsonrpc", "rest", "grpc"] as const)(
  "our client still gets the answer, via %s",
  async (binding) => {
    const remote = await connect(plain.url, { bindings: [binding] });

    const { task } = await remote.stream("count 4").result;

    expect(task?.status.state).toBe("completed");
    expect(textOf(task!)).toBe("1 2 3 4");
  },
);
