import { type A2APart, A2AError, type AgentInfo, type Message } from "@convoke/protocol";

/**
 * Refuses a message with a part that the agent does not take, as its card says
 * (0.3 §8.2, 1.0 §3.3.2). A file that does not say what it is, is taken, and so
 * is what an active extension says: the agent declares that it reads it.
 */
export function checkMediaTypes(
  { parts }: Message,
  info: AgentInfo,
  active: ReadonlySet<string> = new Set(),
): void {
  const modes = [...info.inputModes, ...info.skills.flatMap(({ inputModes = [] }) => inputModes)];
  for (const [place, part] of parts.entries()) {
    const type = mediaTypeOf(part);
    if (type === undefined || accepts(modes, type)) continue;
    if (Object.keys(part.metadata ?? {}).some((uri) => active.has(uri))) continue;
    throw new A2AError(
      "ContentTypeNotSupported",
      `message.parts[${place}] is ${type}, and the agent takes ${modes.join(", ")}`,
      { field: `message.parts[${place}]`, details: { mediaType: type } },
    );
  }
}

/** Whether a list of media types, such as `text/*`, has this one in it. */
export function accepts(modes: readonly string[], type: string): boolean {
  const [wanted] = bare(type).split("/");
  return modes.some((mode) => {
    const allowed = bare(mode);
    return allowed === "*/*" || allowed === bare(type) || allowed === `${wanted}/*`;
  });
}

function mediaTypeOf(part: A2APart): string | undefined {
  switch (part.kind) {
    case "text":
      return part.mediaType ?? "text/plain";
    case "data":
      return part.mediaType ?? "application/json";
    case "file":
      return part.file.mimeType;
    default:
      return part satisfies never;
  }
}

/** Without parameters: `text/plain; charset=utf-8` is text/plain. */
function bare(type: string): string {
  return type.split(";")[0]!.trim().toLowerCase();
}
