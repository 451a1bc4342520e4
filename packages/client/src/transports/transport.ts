import type {
  CallOptions,
  Codec,
  OperationName,
  PublicEvent,
  SelectedInterface,
  StreamItem,
  StreamOptions,
} from "@convoke/protocol";

/** Decodes one response of a stream; throws if it is not an event. */
export type DecodeEvent = (result: unknown) => PublicEvent;

/**
 * One binding at one URL. It handles envelopes only; its codec encodes `params` and decodes results.
 */
export interface Transport {
  readonly speaking: SelectedInterface;
  readonly codec: Codec;
  /** One request, one result. */
  call(operation: OperationName, params: unknown, options?: CallOptions): Promise<unknown>;
  /**
   * One request, many events, without a time limit. Events that arrive together are yielded
   * together, never an empty list; an error is thrown after the events before it.
   */
  stream(
    operation: OperationName,
    params: unknown,
    decode: DecodeEvent,
    options?: StreamOptions,
  ): AsyncGenerator<readonly StreamItem[], void, undefined>;
}

/** The headers of a response, names in lower case. */
export type AnswerHead = Readonly<Record<string, string | readonly string[] | undefined>>;
