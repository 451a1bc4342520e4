import { createHash, randomBytes } from "node:crypto";
import type { A2APart, FilePart, Message, Task } from "@convoke/protocol";
import { defineAgent } from "convoke";
import { aMessage } from "../conformance/requests.ts";

/** Larger than what stays in the log by default. */
export const LARGE = 100_000;

export const CONTENT = randomBytes(LARGE);

export const DIGEST = sha256(CONTENT);

export function sha256(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** A message with a file. */
export function aFileMessage(content: Buffer = CONTENT, overrides: Partial<Message> = {}): Message {
  const file = { name: "photo ä.bin", mimeType: "image/png", bytes: content.toString("base64") };
  const parts: readonly A2APart[] = [
    { kind: "text", text: "Copy it." },
    { kind: "file", file },
  ];
  return { ...aMessage(""), parts, ...overrides };
}

/** Returns the file that it gets. */
export const copier = defineAgent({
  name: "Copier",
  description: "Copies a file.",
  inputModes: ["*/*"],
  outputModes: ["*/*"],
  async *run({ message, files, artifact }) {
    const bytes = await files!.bytes(fileIn(message.parts));
    yield artifact("copy.bin", bytes, { mediaType: "image/png" });
  },
});

/** The first file of some parts. */
export function fileIn(parts: readonly A2APart[] = []): FilePart {
  const part = parts.find(({ kind }) => kind === "file");
  if (part?.kind !== "file") throw new Error("there is no file");
  return part;
}

/** The files of a task: the one that was sent, and the one that the agent returned. */
export function filesOf({ history, artifacts }: Task): readonly FilePart["file"][] {
  return [history?.[0]?.parts, artifacts?.[0]?.parts].map((parts) => fileIn(parts).file);
}
