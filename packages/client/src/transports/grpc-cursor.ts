/** Where an event on gRPC says its place in the log; it goes back as metadata of that name. */
const CURSOR = "last-event-id";

interface Event {
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The event without its cursor, so that it is the same by every binding, and the cursor. */
export function takeCursor(message: unknown): { readonly result: unknown; readonly id: string } {
  const [[member, event] = []] = Object.entries((message ?? {}) as Readonly<Record<string, Event>>);
  const cursor = event?.metadata?.[CURSOR];
  if (member === undefined || typeof cursor !== "string") return { result: message, id: "" };
  const { metadata: { [CURSOR]: _, ...metadata } = {}, ...rest } = event ?? {};
  const isEmpty = Object.keys(metadata).length === 0;
  return { result: { [member]: isEmpty ? rest : { ...rest, metadata } }, id: cursor };
}
