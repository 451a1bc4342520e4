import type { FaultReply, FaultScenario } from "../fault-scenario.ts";
import { refuses, sends, wrapped } from "../replies/answers.ts";
import { type Card, cardOf, showsCard } from "../replies/cards.ts";
import { whole } from "../replies/http.ts";
import { honestReply } from "../replies/honest.ts";
import { GREETED, aTask, codecOf } from "../replies/words.ts";
import { HTTP, V03_RPC, V1_REST, V1_RPC } from "./speakings.ts";

/** The same agent as a 0.3 interface, at the same URL. */
const in03 =
  (reply: FaultReply): FaultReply =>
  (call) =>
    reply({ ...call, speaking: { ...call.speaking, version: "0.3" } });

/** Supports only 0.3, regardless of its card; 1.0 requests get `otherwise`. */
const only03 =
  (reply: FaultReply, otherwise: FaultReply): FaultReply =>
  (call) =>
    call.headers["a2a-version"] === "1.0" ? otherwise(call) : in03(reply)(call);

/** A card with the fields of both versions. */
const both: FaultReply = showsCard((card, call) => ({
  ...cardOf({ ...call, speaking: { ...call.speaking, version: "0.3" } }),
  ...card,
}));

const send = honestReply("sendMessage");

/** Mismatches between what the card declares and what the agent supports. */
export const VERSIONS: readonly FaultScenario[] = [
  {
    id: "1.0-is-refused-and-0.3-is-offered",
    sentence: "The card declares 1.0 and 0.3, but the agent does not support 1.0 (-32009).",
    speaks: [V1_RPC],
    asks: "send",
    replies: { card: [both], sendMessage: [only03(send, refuses("VersionNotSupported"))] },
    right: GREETED,
    beyond: "falling back is a feature that the specification does not require",
  },
  {
    id: "1.0-is-unknown-and-0.3-is-offered",
    sentence:
      "The card declares 1.0 and 0.3, but the agent does not know the methods of 1.0 " +
      "(-32601).",
    speaks: [V1_RPC],
    asks: "stream",
    replies: {
      card: [both],
      sendStreamingMessage: [
        only03(honestReply("sendStreamingMessage"), refuses("MethodNotFound")),
      ],
    },
    right: GREETED,
    beyond: "falling back is a feature that the specification does not require",
  },
  {
    id: "1.0-is-refused",
    sentence: "The card declares only 1.0, but the agent does not support it (-32009).",
    speaks: [V1_RPC, V1_REST],
    asks: "send",
    replies: { sendMessage: [refuses("VersionNotSupported")] },
    right: { code: -32009, says: /not supported/i },
  },
  {
    id: "the-card-lies-and-0.3-is-allowed",
    sentence:
      "The card declares only 1.0, the agent supports only 0.3, and the user allows the " +
      "fallback.",
    speaks: [V1_RPC],
    asks: "send",
    settings: { allowDowngrade: true },
    replies: { sendMessage: [only03(send, refuses("MethodNotFound"))] },
    right: GREETED,
    beyond: "falling back is a feature that the specification does not require",
  },
  {
    id: "the-card-lies",
    sentence: "The card declares only 1.0, but the agent does not know its methods (-32601).",
    speaks: [V1_RPC],
    asks: "send",
    replies: { sendMessage: [only03(send, refuses("MethodNotFound"))] },
    right: { code: -32601, says: /method/i },
  },
  {
    id: "0.3-in-the-words-of-1.0",
    sentence: "The card declares 0.3, but responses are in the format of 1.0.",
    speaks: [V03_RPC],
    asks: "send",
    replies: {
      sendMessage: [
        (call) => {
          const codec = codecOf({ ...call.speaking, version: "1.0" });
          const result = codec.encodeSendResult(aTask(GREETED.state, GREETED.text));
          return whole(JSON.stringify(wrapped(call, result)));
        },
      ],
    },
    right: { error: "unreadable", says: /cannot be understood/, or: GREETED },
  },
  {
    id: "1.0-in-the-words-of-0.3",
    sentence: "The card declares 1.0, but responses are in the format of 0.3.",
    speaks: [V1_RPC],
    asks: "send",
    replies: { sendMessage: [in03(sends(aTask(GREETED.state, GREETED.text)))] },
    right: GREETED,
    beyond: "a client may reject responses that are not in the format of their version",
  },
  {
    id: "a-version-of-the-future",
    sentence: "The card declares a version that does not exist yet.",
    speaks: [V1_RPC, V1_REST],
    asks: "send",
    replies: { card: [showsCard((card) => interfaceWith(card, { protocolVersion: "9.9" }))] },
    right: { error: "no-interface", says: /9\.9/ },
    beyond: "a client may try it anyway",
  },
  {
    id: "a-version-with-a-patch",
    sentence: "The card declares 1.0.7, whose patch number is ignored.",
    speaks: [V1_RPC, V1_REST],
    asks: "send",
    replies: { card: [showsCard((card) => interfaceWith(card, { protocolVersion: "1.0.7" }))] },
    right: GREETED,
  },
  {
    id: "a-binding-of-its-own",
    sentence: "The card declares only an unknown binding.",
    speaks: HTTP,
    asks: "send",
    replies: {
      card: [
        showsCard((card) =>
          "supportedInterfaces" in card
            ? interfaceWith(card, { protocolBinding: "https://example.com/by-pigeon" })
            : { ...card, preferredTransport: "PIGEON" },
        ),
      ],
    },
    right: { error: "no-interface", says: /pigeon/i },
  },
];

function interfaceWith(card: Card, change: object): Card {
  const [first] = card["supportedInterfaces"] as readonly object[];
  return { ...card, supportedInterfaces: [{ ...first, ...change }] };
}
