import type { Message } from "../message.ts";
import type { Metadata } from "../part.ts";
import { dataOfType } from "./check-message.ts";
import type { ToolUse } from "./client-tools.ts";
import { EXTENSIONS } from "./extensions.ts";

/** The calls that a message asks its reader to make; what is of another form asks for none. */
export function toolUsesIn(message: Message): readonly ToolUse[] {
  return dataOfType(message, EXTENSIONS.clientTools.uri, "tool-use").flatMap(({ data }) => {
    const { toolUseId, name, input } = (data ?? {}) as Readonly<Record<string, unknown>>;
    const isCall =
      typeof toolUseId === "string" &&
      typeof name === "string" &&
      typeof input === "object" &&
      input !== null;
    return isCall ? [{ toolUseId, name, input: input as Metadata }] : [];
  });
}
