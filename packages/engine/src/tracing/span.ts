import { ServerStopping, type TraceContext } from "@convoke/protocol";
import type * as Api from "@opentelemetry/api";
import type { Attributes, Context, Span as ApiSpan, SpanContext } from "@opentelemetry/api";
import { setTimeout as sleep } from "node:timers/promises";
import { loadOpenTelemetry } from "./opentelemetry.ts";

/** The instrumentation scope of all spans. */
const SCOPE = "convoke";

export type SpanAttributes = Attributes;

export interface SpanOptions {
  /** Which side of a remote call the span is. Default: neither. */
  readonly kind?: "server" | "client";
  /** The span that this one belongs to, also one of another process. Default: the active span. */
  readonly parent?: TraceContext | undefined;
  /** Another span that led to this one. */
  readonly link?: TraceContext | undefined;
  /** In milliseconds since the epoch. Default: now. */
  readonly startTime?: number;
  /** Called only if spans are created. */
  readonly attributes: () => SpanAttributes;
  /** Ends the span when it fires, even if its work never returns. */
  readonly signal?: AbortSignal;
}

/** Starts a span. Returns `undefined` if the process has no OpenTelemetry SDK, which costs next to nothing. */
export function startSpan(name: string, options: SpanOptions): Span | undefined {
  const api = loadOpenTelemetry();
  if (api === undefined) return undefined;
  const { kind, parent, link, startTime, attributes, signal } = options;
  const active = api.context.active();
  const around =
    parent === undefined ? active : api.trace.setSpanContext(active, toSpanContext(api, parent));
  const span = api.trace.getTracer(SCOPE).startSpan(
    name,
    {
      kind: spanKind(api, kind),
      attributes: attributes(),
      ...(link && { links: [{ context: toSpanContext(api, link) }] }),
      ...(startTime !== undefined && { startTime }),
    },
    around,
  );
  // The SDK may have been registered with an incompatible copy of the API.
  if (!api.isSpanContextValid(span.spanContext())) return undefined;
  return new Span(api, { span, context: api.trace.setSpan(around, span), signal });
}

/**
 * Runs asynchronous work in a span that is active meanwhile and ends with it.
 *
 * @param options.errorType the `error.type` of what the work throws. Default: the name of the error.
 */
export async function withSpan<T>(
  name: string,
  options: SpanOptions & { readonly errorType?: (thrown: unknown) => string },
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  const span = startSpan(name, options);
  if (span === undefined) return work(undefined);
  try {
    const result = await span.run(() => work(span));
    span.end();
    return result;
  } catch (thrown) {
    const { errorType = errorName } = options;
    span.end(errorType(thrown));
    throw thrown;
  }
}

/** Runs work while the span is the active one, if there is a span. */
export function inSpan<T>(span: Span | undefined, work: () => T): T {
  return span === undefined ? work() : span.run(work);
}

/** The active span, such as one that instrumentation of an HTTP server has started. */
export function activeTrace(): TraceContext | undefined {
  const api = loadOpenTelemetry();
  const active = api?.trace.getActiveSpan()?.spanContext();
  return active && api?.isSpanContextValid(active) === true ? toTrace(active) : undefined;
}

/** Lets the SDK send what it has recorded, for a process that is about to exit. Never rejects. */
export async function flushSpans(withinMs: number): Promise<void> {
  const provider: FlushedProvider | undefined = loadOpenTelemetry()?.trace.getTracerProvider();
  const sdk = provider?.getDelegate?.() ?? provider;
  if (sdk?.forceFlush === undefined) return;
  const flushed = sdk.forceFlush().catch(() => undefined);
  await Promise.race([flushed, sleep(withinMs, undefined, { ref: false })]);
}

/** The API knows no flush; the providers of SDKs do. */
interface FlushedProvider extends Partial<Api.TracerProvider> {
  /** The provider of the SDK, behind that of the API. */
  readonly getDelegate?: () => FlushedProvider;
  readonly forceFlush?: () => Promise<void>;
}

interface SpanParts {
  readonly span: ApiSpan;
  /** The context in which the span is active. */
  readonly context: Context;
  readonly signal: AbortSignal | undefined;
}

/**
 * A span of an OpenTelemetry SDK. Sampling may have decided that it is not recorded; it then still
 * has a trace, which passes that decision on.
 */
export class Span {
  /** The span as the parent of others, here or in another process. */
  readonly trace: TraceContext;
  readonly #api: typeof Api;
  readonly #parts: SpanParts;
  #isEnded = false;

  constructor(api: typeof Api, parts: SpanParts) {
    this.trace = toTrace(parts.span.spanContext());
    this.#api = api;
    this.#parts = parts;
    const { signal } = parts;
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (signal?.aborted === true) this.#onAbort();
  }

  /** Whether attributes and events are kept. */
  get isRecording(): boolean {
    return !this.#isEnded && this.#parts.span.isRecording();
  }

  rename(name: string): void {
    this.#parts.span.updateName(name);
  }

  /** Adds attributes. The function is called only if they are kept. */
  set(attributes: () => SpanAttributes): void {
    if (this.isRecording) this.#parts.span.setAttributes(attributes());
  }

  /** Adds an event. The function is called only if it is kept. */
  addEvent(name: string, attributes: () => SpanAttributes): void {
    if (this.isRecording) this.#parts.span.addEvent(name, attributes());
  }

  /** Runs work while this span is the active one, so that the spans of other instrumentation nest. */
  run<T>(work: () => T): T {
    return this.#api.context.with(this.#parts.context, work);
  }

  /**
   * Ends the span. Later calls do nothing.
   *
   * @param errorType why the work failed, in one of a few words; its text may hold secrets
   */
  end(errorType?: string): void {
    if (this.#isEnded) return;
    const { span, signal } = this.#parts;
    if (errorType !== undefined) {
      span.setAttribute("error.type", errorType);
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    }
    this.#isEnded = true;
    signal?.removeEventListener("abort", this.#onAbort);
    span.end();
  }

  readonly #onAbort = (): void => this.end(abortName(this.#parts.signal?.reason));
}

/** The `error.type` of work that was stopped for this reason. */
export function abortName(reason: unknown): "server_stopping" | "canceled" {
  return ServerStopping.is(reason) ? "server_stopping" : "canceled";
}

function errorName(thrown: unknown): string {
  return thrown instanceof Error ? thrown.name : typeof thrown;
}

function spanKind({ SpanKind }: typeof Api, kind: SpanOptions["kind"]): Api.SpanKind {
  if (kind === "server") return SpanKind.SERVER;
  return kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL;
}

/** The trace may have been read from a request or from a log, so it counts as remote. */
function toSpanContext(
  { createTraceState }: typeof Api,
  { traceId, spanId, flags = SAMPLED, state }: TraceContext,
): SpanContext {
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(state !== undefined && { traceState: createTraceState(state) }),
  };
}

/** The flags of a trace that names none. */
const SAMPLED = "01";

function toTrace({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const flags = traceFlags.toString(16).padStart(2, "0");
  const state = traceState?.serialize() ?? "";
  return {
    traceId,
    spanId,
    ...(flags !== SAMPLED && { flags }),
    ...(state !== "" && { state }),
  };
}
