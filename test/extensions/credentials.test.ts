import { EXTENSIONS } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { readAll } from "../conformance/reading.ts";
import { type Refusal, refusalOf } from "../conformance/refusal.ts";
import { aMessage, aRequest } from "../conformance/requests.ts";
import type { Speaker } from "../conformance/speaker.ts";
import { speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { asking } from "./a-listening-speaker.ts";
import { FORMAL, UNKNOWN, extensionAgent } from "./extension-agent.ts";

const HIDDEN = "urn:example:for-friends:1";
const server = useServer(extensionAgent({ extensions: [{ uri: FORMAL, required: true }] }), {
  token: "a-secret",
  extendedCard: () => ({ extensions: [{ uri: HIDDEN }] }),
});
const ALL = [...Object.values(EXTENSIONS).map(({ uri }) => uri), FORMAL, HIDDEN].join(", ");
const TOO_MANY = Array.from({ length: 65 }, (_, place) => `urn:e:${place}`).join(",");

describe.each(speakersTo(server))("without credentials over $binding $version", (speaker) => {
  for (const [what, uris] of [
    ["extensions that are declared", ALL],
    ["extensions that are not", UNKNOWN],
    ["more extensions than allowed", TOO_MANY],
    ["none, where one is required", ""],
  ] as const) {
    verifies(
      ["v1-S32", "v03-S18"],
      `a request for ${what} is rejected like any other`,
      async () => {
        const asked = asking(speaker, uris);
        const metadata = { [EXTENSIONS.skill.uri]: { id: "cook" } };
        const message = aMessage("hello", { metadata });

        const { speaker: stranger } = asked;
        for (const call of [
          () => stranger.send(aRequest(message)),
          () => stranger.get({ taskId: "unknown" }),
          () => stranger.cancel({ taskId: "unknown" }),
          () => readAll(stranger.stream(aRequest(message))),
          () => readAll(stranger.subscribe({ taskId: "unknown" })),
        ]) {
          expectUnknown(speaker, await refusalOf(call()));
        }
        expect(asked.echo()).toEqual({ "0.3": undefined, "1.0": undefined });
      },
    );
  }

  verifies(
    "v1-S32",
    "and with them the extensions of the extended card are available",
    async () => {
      const known = asking(
        speaker.with({ authorization: "Bearer a-secret" }),
        `${FORMAL}, ${HIDDEN}`,
      );

      await known.speaker.sendTask(aRequest("hello"));

      expect(known.active()).toEqual([FORMAL, HIDDEN]);
    },
  );
});

function expectUnknown({ binding }: Speaker, { http, grpc }: Refusal): void {
  expect(binding === "grpc" ? grpc : http).toBe(binding === "grpc" ? 16 : 401);
}
