import type { Conversation, Speaker } from "./call.ts";
import { GrpcSpeaker } from "./grpc-speaker.ts";
import { JsonRpcSpeaker } from "./jsonrpc-speaker.ts";
import { RestSpeaker } from "./rest-speaker.ts";

/** Who speaks the binding of the target. */
export function speakerFor(conversation: Conversation): Speaker {
  switch (conversation.target.binding) {
    case "jsonrpc":
      return new JsonRpcSpeaker(conversation);
    case "rest":
      return new RestSpeaker(conversation);
    case "grpc":
      return new GrpcSpeaker(conversation);
    default:
      return conversation.target.binding satisfies never;
  }
}
