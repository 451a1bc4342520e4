/** The three bindings, as options and reports name them. */
export const BINDINGS = ["jsonrpc", "rest", "grpc"] as const;

export type Binding = (typeof BINDINGS)[number];

const NAMES: Readonly<Record<Binding, string>> = {
  jsonrpc: "JSONRPC",
  rest: "HTTP+JSON",
  grpc: "GRPC",
};

/** The binding that a card names; none for one that somebody else made. */
export function bindingOf(name: string): Binding | undefined {
  return BINDINGS.find((binding) => NAMES[binding] === name.toUpperCase());
}
