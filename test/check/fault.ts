import { type Answered, type Asked, type Fault, events, json } from "./spoiling-proxy.ts";

/** One fault of a server, and the probe that must find it. */
export interface SeededFault extends Fault {
  readonly title: string;
  /** The probe that must find it. */
  readonly id: string;
  readonly options?: readonly string[];
}

export interface Rpc {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Result;
  readonly error?: Readonly<Record<string, unknown>>;
}

interface Result extends Readonly<Record<string, unknown>> {
  readonly tasks?: readonly unknown[];
  readonly statusUpdate?: { readonly status: { readonly state: string } };
  readonly artifactUpdate?: object;
  readonly task?: object;
  readonly kind?: string;
}

export function rpc(change: (body: Rpc) => object): NonNullable<Fault["answer"]> {
  return (answered) => ({ ...answered, body: json(answered.body, change) });
}

export function withResult(body: Rpc, change: (result: Result) => object): object {
  return body.result ? { ...body, result: change(body.result) } : body;
}

export function stream(
  change: (told: readonly Rpc[]) => readonly object[],
): NonNullable<Fault["answer"]> {
  return (answered) => events(answered, change as (told: readonly never[]) => readonly object[]);
}

/** Changes the text of a response or of a request. */
export function words(
  pattern: RegExp,
  by: string,
): <Said extends Asked | Answered>(said: Said) => Said {
  return (said) => ({ ...said, body: said.body.replace(pattern, by) });
}

/** Removes every field of that name. */
export function forgetting(name: string): <Said extends Asked | Answered>(said: Said) => Said {
  const forget = (key: string, value: unknown): unknown => (key === name ? undefined : value);
  return (said) => ({
    ...said,
    body: json(said.body, (value: unknown) => JSON.parse(JSON.stringify(value), forget)),
  });
}

export function params(
  change: (params: Readonly<Record<string, unknown>>) => object,
): NonNullable<Fault["ask"]> {
  return (asked) => ({
    ...asked,
    body: json(asked.body, (body: Rpc) => ({ ...body, params: change(body.params ?? {}) })),
  });
}

export function without(header: string): NonNullable<Fault["answer"]> {
  return ({ headers, ...answered }) => ({
    ...answered,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== header)),
  });
}

export function answer(body: string): Answered {
  return { status: 200, headers: { "content-type": "application/json" }, body };
}
