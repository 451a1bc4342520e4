import {
  A2AError,
  type A2APart,
  type AgentEvent,
  type AgentInfo,
  type ArtifactUpdateEvent,
  type Message,
  type StatusUpdateEvent,
  type Task,
  textPart,
} from "@convoke/protocol";

/**
 * Rejects a message with a part whose media type the agent does not list on its
 * card (0.3 §8.2, 1.0 §3.3.2). Accepted in any case: files without a media type,
 * and parts of an active extension, because the agent declares that it reads them.
 */
export function checkMediaTypes(
  { parts }: Message,
  info: AgentInfo,
  active: ReadonlySet<string> = new Set(),
): void {
  const modes = modesOf(info);
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index]!;
    const type = mediaTypeOf(part);
    if (type === undefined || accepts(modes, part.kind, type)) continue;
    if (Object.keys(part.metadata ?? {}).some((uri) => active.has(uri))) continue;
    throw new A2AError(
      "ContentTypeNotSupported",
      `message.parts[${index}] is ${type}, and the agent takes ${modes.join(", ")}`,
      { field: `message.parts[${index}]`, details: { mediaType: type } },
    );
  }
}

const MODES = new WeakMap<AgentInfo, readonly string[]>();

/** The media types of the agent and of its skills. */
function modesOf(info: AgentInfo): readonly string[] {
  const known = MODES.get(info);
  if (known !== undefined) return known;
  const ofSkills = info.skills.flatMap(({ inputModes = [] }) => inputModes);
  const modes = [...info.inputModes, ...ofSkills];
  MODES.set(info, modes);
  return modes;
}

/** Whether a list of modes includes a part of this kind and media type. */
function accepts(modes: readonly string[], kind: A2APart["kind"], type: string): boolean {
  // Almost always, and without a copy of each mode.
  if (type.includes("/") && modes.includes(type)) return true;
  const given = bare(type);
  const [wanted] = given.split("/");
  return modes.some((mode) => {
    const allowed = bare(mode);
    if (!allowed.includes("/")) return acceptsKind(allowed, kind, given);
    return allowed === "*/*" || allowed === given || allowed === `${wanted}/*`;
  });
}

/**
 * The official samples list kinds of parts, such as `text`, in place of media types. A word that is
 * not a kind says nothing about media types, so it excludes none.
 */
function acceptsKind(mode: string, kind: A2APart["kind"], type: string): boolean {
  switch (mode) {
    case "text":
      return kind === "text" || type.startsWith("text/");
    case "data":
      return kind === "data" || type === "application/json";
    case "file":
      return kind === "file";
    default:
      return true;
  }
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

/** Removes parameters: `text/plain; charset=utf-8` becomes `text/plain`. */
function bare(type: string): string {
  return type.split(";")[0]!.trim().toLowerCase();
}

/**
 * For a caller that does not accept data parts: replaces each with its JSON as
 * text. Returns `undefined` if the caller accepts everything.
 */
export function withoutData(
  modes: readonly string[] | undefined,
): ((event: AgentEvent) => AgentEvent) | undefined {
  if (modes === undefined || modes.length === 0 || accepts(modes, "data", "application/json")) {
    return undefined;
  }
  return convert;
}

function convert(event: AgentEvent): AgentEvent {
  switch (event.kind) {
    case "task":
      return taskView(event as Task);
    case "message":
      return messageView(event as Message);
    case "status-update": {
      const { status, ...rest } = event as StatusUpdateEvent;
      return { ...rest, status: statusView(status) } as StatusUpdateEvent;
    }
    case "artifact-update": {
      const { artifact, ...rest } = event as ArtifactUpdateEvent;
      return { ...rest, artifact: withTexts(artifact) } as ArtifactUpdateEvent;
    }
    default:
      return event;
  }
}

function taskView(task: Task): Task {
  const { status, history, artifacts } = task;
  return {
    ...task,
    status: statusView(status),
    ...(history && { history: history.map(messageView) }),
    ...(artifacts && { artifacts: artifacts.map(withTexts) }),
  };
}

function statusView(status: Task["status"]): Task["status"] {
  return status.message === undefined
    ? status
    : { ...status, message: messageView(status.message) };
}

function messageView(message: Message): Message {
  return message.role === "agent" ? withTexts(message) : message;
}

function withTexts<T extends { readonly parts: readonly A2APart[] }>(carrier: T): T {
  if (carrier.parts.every(({ kind }) => kind !== "data")) return carrier;
  return { ...carrier, parts: carrier.parts.map(asText) };
}

function asText(part: A2APart): A2APart {
  if (part.kind !== "data") return part;
  const { metadata } = part;
  return { ...textPart(JSON.stringify(part.data)), ...(metadata && { metadata }) };
}
