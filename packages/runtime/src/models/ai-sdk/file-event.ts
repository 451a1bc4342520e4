import type { ModelEvent } from "../model.ts";
import type { AiSdkFileData, AiSdkPart } from "./ai-sdk-model.ts";

/** A file the model made. One that is only named by its address is a source. */
export function fileEventOf(part: AiSdkPart & { readonly type: "file" }): ModelEvent {
  const content = contentOf(part.data);
  if (content instanceof URL) return { kind: "source", url: content.href };
  const bytes =
    typeof content === "string"
      ? content
      : Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("base64");
  return { kind: "file", mediaType: part.mediaType, bytes };
}

function contentOf(data: AiSdkFileData): string | Uint8Array | URL {
  if (typeof data === "string" || data instanceof Uint8Array || data instanceof URL) return data;
  return data.type === "url" ? data.url : data.data;
}
