import type { OperationName, ProtocolVersion } from "@convoke/protocol";
import type { Exchange } from "../verdict.ts";
import type { Binding } from "./binding.ts";
import type { Transcript } from "./transcript.ts";
import type { WireError } from "./wire-error.ts";

export type WireHeaders = Readonly<Record<string, string>>;

/** The interface that is spoken to. */
export interface Target {
  readonly binding: Binding;
  readonly version: ProtocolVersion;
  /** As the card has it, made absolute. */
  readonly url: string;
  /** Goes into every request where the card names one (1.0 §8.3.2). */
  readonly tenant: string;
  /** What every request has besides: credentials, required extensions. */
  readonly headers: WireHeaders;
}

/** One call in the JSON of its version, well-formed or not. */
export interface Call {
  readonly operation: OperationName;
  readonly params: unknown;
  /** Added to those of every request; `undefined` takes one of them away. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Added to the address, where the binding has one. */
  readonly query?: Readonly<Record<string, string>>;
}

export interface Served {
  readonly kind: "served";
  readonly result: unknown;
  /** Headers, or metadata. */
  readonly headers: WireHeaders;
  /** The whole body, where it is JSON. */
  readonly body: unknown;
  readonly exchange: Exchange;
}

export interface Refused {
  readonly kind: "refused";
  readonly error: WireError;
  readonly headers: WireHeaders;
  readonly body: unknown;
  readonly exchange: Exchange;
}

export type Answer = Served | Refused;

/** A stream that was opened. */
export interface Opened {
  readonly kind: "opened";
  readonly headers: WireHeaders;
  /** The events, each as the JSON of its version; whoever stops reading hangs up. */
  readonly events: AsyncGenerator<StreamItem, void>;
}

/** An event of a stream, or the error that it ends with. */
export interface StreamItem {
  /** The event itself. */
  readonly json: unknown;
  /** All that came, with what the binding puts around the event. */
  readonly envelope: unknown;
  readonly error?: WireError;
}

/** What one conversation with a server has in common. */
export interface Conversation {
  readonly target: Target;
  readonly signal: AbortSignal;
  readonly transcript: Transcript;
}

/** Speaks one binding in one version, and says whatever it is told to. */
export interface Speaker {
  readonly binding: Binding;
  readonly version: ProtocolVersion;
  call(call: Call): Promise<Answer>;
  open(call: Call): Promise<Opened | Refused>;
}
