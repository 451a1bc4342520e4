import {
  EXTENSIONS,
  type Message,
  type Task,
  approvalsIn,
  dataOfType,
  isInterrupted,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";

/** Something that a task waits for, in addition to approvals and tool calls. */
export interface InputRequest {
  readonly kind: "input-request" | "auth-request";
  /** Absent for agents that ask in words only. */
  readonly requestId?: string;
  readonly prompt: string;
  readonly options?: readonly string[];
  readonly isSensitive: boolean;
  readonly schema?: unknown;
  /** Where to sign in. */
  readonly url?: string;
  /** The name of the credential that is the answer. */
  readonly credential?: string;
}

/** The questions that a task waits for. Malformed ones are ignored. */
export function openQuestions({ status }: Task): readonly InputRequest[] {
  const { state, message } = status;
  if (message === undefined || !isInterrupted(state)) return [];
  const { uri } = EXTENSIONS.clientTools;
  const requests = dataOfType(message, uri, "input-request").flatMap(({ data }) => toRequest(data));
  if (requests.length > 0) return requests;
  if (state === "auth-required") return [{ kind: "auth-request", prompt: "", isSensitive: false }];
  // The options of an approval are not answers in words: those would abandon the call.
  const { inParts, inMetadata } = approvalsIn(message);
  if (inParts.length + inMetadata.length > 0) return [];
  const options = optionsIn(message);
  return options === undefined
    ? []
    : [{ kind: "input-request", prompt: "", isSensitive: false, options }];
}

function toRequest(data: unknown): readonly InputRequest[] {
  if (!isObject(data)) return [];
  const { kind, requestId, prompt, options, sensitive, schema, url, credential } = data;
  if (typeof requestId !== "string") return [];
  return [
    {
      kind: kind === "auth-request" ? "auth-request" : "input-request",
      requestId,
      prompt: typeof prompt === "string" ? prompt : "",
      isSensitive: sensitive === true || typeof credential === "string",
      ...(isTexts(options) && { options }),
      ...(schema !== undefined && { schema }),
      ...(typeof url === "string" && { url }),
      ...(typeof credential === "string" && { credential }),
    },
  ];
}

/** A2A has no field for options; other agents put them into the metadata or into a data part. */
function optionsIn({ parts, metadata }: Message): readonly string[] | undefined {
  const data = parts.map((part) => (part.kind === "data" ? part.data : undefined));
  for (const candidate of [metadata, ...data]) {
    if (!isObject(candidate)) continue;
    const { options, choices } = candidate;
    if (isTexts(options)) return options;
    if (isTexts(choices)) return choices;
  }
  return undefined;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string");
}
