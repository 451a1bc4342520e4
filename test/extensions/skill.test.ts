import { EXTENSIONS } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { refusalOf } from "../conformance/refusal.ts";
import { aMessage, aRequest } from "../conformance/requests.ts";
import { speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { asking } from "./a-listening-speaker.ts";
import { extensionAgent } from "./extension-agent.ts";
import { seenIn } from "./seen.ts";

const { uri } = EXTENSIONS.skill;
const server = useServer(extensionAgent());
const SECRET = { id: "secret", name: "Secret", description: "For friends.", tags: [] };
const extended = useServer(extensionAgent(), {
  token: "a-secret",
  extendedCard: () => ({ skills: [SECRET] }),
});

function choosing(data: unknown) {
  return aRequest(aMessage("hello", { metadata: { [uri]: data } }));
}

describe.each(speakersTo(server))("choosing a skill over $binding $version", (speaker) => {
  const { speaker: active } = asking(speaker, uri);

  test("is passed to the agent", async () => {
    expect(seenIn(await active.sendTask(choosing({ id: "summarize" }))).skill).toBe("summarize");
    expect(seenIn(await active.sendTask(aRequest("hello"))).skill).toBeUndefined();
  });

  verifies("v1-S32", "that does not exist is rejected with the list of existing ones", async () => {
    const refusal = await refusalOf(active.sendTask(choosing({ id: "cook" })));

    expect(refusal.reason).toBe("InvalidParams");
    expect(refusal.message).toContain(`${JSON.stringify(uri)}].id must be a skill of the agent`);
    expect(refusal.message).toContain("translate, summarize");
  });

  verifies("v1-S32", "with anything other than an id is rejected", async () => {
    for (const data of [{}, { id: 5 }, { id: "" }, "translate", ["translate"]]) {
      const refusal = await refusalOf(active.sendTask(choosing(data)));

      expect(refusal.reason).toBe("InvalidParams");
      expect(refusal.message).toContain(`message.metadata[${JSON.stringify(uri)}]`);
    }
  });

  test("is ignored while the extension is not active, and is kept", async () => {
    const seen = seenIn(await speaker.sendTask(choosing({ id: "cook" })));

    expect(seen.skill).toBeUndefined();
    expect(seen.metadata).toEqual({ [uri]: { id: "cook" } });
  });
});

describe.each(speakersTo(extended))(
  "a skill of the extended card over $binding $version",
  (speaker) => {
    test("may be chosen by authenticated callers", async () => {
      const known = asking(speaker.with({ authorization: "Bearer a-secret" }), uri);

      expect(seenIn(await known.speaker.sendTask(choosing({ id: "secret" }))).skill).toBe("secret");
    });
  },
);
