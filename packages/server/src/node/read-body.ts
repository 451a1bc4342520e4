import type { IncomingMessage } from "node:http";
import { bodyCutOff, bodyTooLarge } from "../http/body-too-large.ts";

/** Collects a body, and stops at the limit without keeping what lies beyond. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes) return Promise.reject(bodyTooLarge(maxBytes));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) {
        chunks.push(chunk);
      } else {
        chunks.length = 0;
        reject(bodyTooLarge(maxBytes));
      }
    });
    const cutOff = (): void => reject(bodyCutOff());
    request.on("error", cutOff);
    request.on("close", cutOff);
    request.on("end", () => {
      // Every request closes; an error that nobody needs would cost more than reading the body.
      request.off("close", cutOff);
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    });
  });
}
