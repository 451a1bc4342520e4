import type { ScriptError } from "../../models/script/script-step.ts";

const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
};

/** An error in the format that both OpenAI APIs use. */
export function openAIError({ status, code, message }: ScriptError): {
  readonly message: string;
  readonly type: string;
  readonly param: null;
  readonly code: string | null;
} {
  const type = TYPES[status] ?? "server_error";
  return { message: message ?? `scripted ${status}`, type, param: null, code: code ?? null };
}
