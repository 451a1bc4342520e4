import { type A2APart, type Task, textOf } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { readAll } from "./reading.ts";
import { aMessage, aRequest } from "./requests.ts";
import { speakersOf, speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent());

const METADATA = { "https://example.com/v1": { deep: [1, 2.5, null, true], text: "ü – 猫" } };

/** One part of each kind, with every field that both versions have. */
const PARTS: Readonly<Record<string, A2APart>> = {
  text: { kind: "text", text: "Grüße, 世界 🌍\n\t\u0000", metadata: METADATA },
  "empty text": { kind: "text", text: "" },
  "a file in bytes": {
    kind: "file",
    file: { name: "bytes.bin", mimeType: "application/octet-stream", bytes: "AAEC/f7/" },
    metadata: METADATA,
  },
  "a file at an address": {
    kind: "file",
    file: { name: "page", mimeType: "text/html", uri: "https://example.com/a?b=c&d=%20" },
  },
  "a file without a name": { kind: "file", file: { bytes: "aGVsbG8=" } },
  data: {
    kind: "data",
    data: { number: -0.5, big: 2 ** 53, none: null, list: [[], {}], "": "empty key" },
    metadata: METADATA,
  },
  "an empty object": { kind: "data", data: {} },
  "a list": { kind: "data", data: [1, "two", null] },
  "a number": { kind: "data", data: 42 },
  "nothing at all": { kind: "data", data: null },
};

describe.each(speakersTo(server))("content over $binding $version", (speaker) => {
  verifies(
    ["R13", "R27", "R28", "v03-S11"],
    "of all kinds is returned as it was sent",
    async () => {
      const parts = Object.values(PARTS);
      const message = aMessage("", { parts, metadata: METADATA });

      const task = await speaker.sendTask(aRequest(message));
      const streamed = await readAll(
        speaker.stream(aRequest({ ...message, messageId: `${message.messageId}-2` })),
      );

      expect(task.artifacts?.[0]).toMatchObject({ parts, metadata: METADATA });
      expect(task.history?.[0]).toMatchObject({ role: "user", parts, metadata: METADATA });
      expect(streamed.map(({ event }) => event)).toContainEqual(
        expect.objectContaining({ artifact: task.artifacts?.[0] }),
      );
    },
  );

  verifies(["R13"], "in the metadata of a cancel does no harm", async () => {
    const { id: taskId } = await speaker.sendTask(aRequest("ask"));

    const task = await speaker.cancel({ taskId, metadata: METADATA });

    expect(task.status.state).toBe("canceled");
  });

  verifies(["v1-S13", "R14"], "that the caller does not accept is converted to text", async () => {
    const parts: readonly A2APart[] = [{ kind: "data", data: { total: 5 } }];
    const acceptedOutputModes = ["text/plain"];

    const task = await speaker.sendTask(aRequest(aMessage("", { parts }), { acceptedOutputModes }));

    expect(kindsIn(task)).toEqual(["text"]);
    expect(textOf(task)).toBe('{"total":5}');
  });
});

describe.each(speakersOf(server, "1.0"))("content in 1.0 over $binding", (speaker) => {
  verifies("R28", "has a media type and a file name on every part", async () => {
    const parts: readonly A2APart[] = [
      { kind: "text", text: "# Hi", mediaType: "text/markdown", filename: "hi.md" },
      { kind: "data", data: [1], mediaType: "application/x-list", filename: "list" },
    ];

    const task = await speaker.sendTask(aRequest(aMessage("", { parts })));

    expect(task.artifacts?.[0]?.parts).toEqual(parts);
  });
});

function kindsIn({ artifacts = [] }: Task): readonly string[] {
  return artifacts.flatMap(({ parts }) => parts.map(({ kind }) => kind));
}
