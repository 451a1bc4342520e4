import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ArtifactUpdateEvent } from "@convoke/protocol";
import { type AgentServer, serve } from "convoke";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readAll } from "../conformance/reading.ts";
import { aRequest } from "../conformance/requests.ts";
import { jsonRpcSpeaker, speakersTo } from "../conformance/speakers.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { CONTENT, DIGEST, aFileMessage, copier, fileIn, filesOf } from "./a-file.ts";

describe("a server with the default options", () => {
  const data = mkdtempSync(join(tmpdir(), "convoke-files-"));
  const peer = { url: "" };
  let server: AgentServer;
  beforeAll(async () => {
    server = await serve(copier, { port: 0, data });
    peer.url = server.url;
  });
  afterAll(async () => {
    await server.close();
    rmSync(data, { recursive: true });
  });

  test.each(speakersTo(peer))(
    "returns large files as bytes over $binding $version",
    async (speaker) => {
      const bytes = CONTENT.toString("base64");

      const sent = await speaker.sendTask(aRequest(aFileMessage()));
      const events = await readAll(speaker.stream(aRequest(aFileMessage())));
      const read = await speaker.get({ taskId: sent.id });

      for (const task of [sent, read]) {
        expect(filesOf(task).map((file) => file.bytes === bytes)).toEqual([true, true]);
      }
      const update = events.find(({ event }) => event.kind === "artifact-update");
      const { artifact } = update!.event as ArtifactUpdateEvent;
      expect(fileIn(artifact.parts).file).toEqual({
        name: "copy.bin",
        mimeType: "image/png",
        bytes,
      });
    },
  );

  test("keeps large files outside of its database, each next to its task", async () => {
    const { id } = await jsonRpcSpeaker(peer, "1.0").sendTask(aRequest(aFileMessage()));

    const folder = join(server.folder!, "files", id);
    expect(readdirSync(folder)).toEqual([DIGEST]);
    expect(readFileSync(join(folder, DIGEST)).equals(CONTENT)).toBe(true);
    const piece = CONTENT.toString("base64").slice(300, 360);
    for (const name of ["tasks.db", "tasks.db-wal"]) {
      expect(readFileSync(join(server.folder!, name)).includes(piece)).toBe(false);
    }
  });

  test("keeps small files in the log", async () => {
    const message = aFileMessage(Buffer.from("small"));

    const task = await jsonRpcSpeaker(peer, "1.0").sendTask(aRequest(message));

    expect(filesOf(task).map(({ bytes }) => bytes)).toEqual(["c21hbGw=", "c21hbGw="]);
    expect(statSync(join(server.folder!, "files", task.id), { throwIfNoEntry: false })).toBe(
      undefined,
    );
  });
});

test("no file is moved if storeAbove is 0, and those that were moved before are still read", async () => {
  const data = temporaryFolder();
  const before = await serve(copier, { port: 0, data });
  const moved = await jsonRpcSpeaker(before, "1.0").sendTask(aRequest(aFileMessage()));
  await before.close();
  await using server = await serve(copier, { port: 0, data, files: { storeAbove: 0 } });
  const speaker = jsonRpcSpeaker(server, "1.0");

  const kept = await speaker.sendTask(aRequest(aFileMessage()));

  const bytes = CONTENT.toString("base64");
  for (const { id } of [moved, kept]) {
    const files = filesOf(await speaker.get({ taskId: id }));
    expect(files.map((file) => file.bytes === bytes)).toEqual([true, true]);
  }
  expect(readdirSync(join(server.folder!, "files"))).toEqual([moved.id]);
});
