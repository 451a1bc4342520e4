import { AgentHttp } from "../auth/agent-http.ts";
import type { Credentials } from "../auth/credentials.ts";
import type { ChosenInterface } from "../cards/choose-interface.ts";
import { ClientError } from "@convoke/protocol";
import type { HttpClient } from "@convoke/egress/http";
import { openGrpcChannel } from "./http2-channel.ts";
import { JsonRpcTransport } from "./jsonrpc.ts";
import { RestTransport } from "./rest.ts";
import type { Transport } from "./transport.ts";

export interface OpenTransportOptions {
  readonly client: HttpClient;
  readonly credentials?: Credentials | undefined;
  readonly extensions?: readonly string[] | undefined;
}

/** Opens the transport of an interface. gRPC is loaded on first use. */
export async function openTransport(
  chosen: ChosenInterface,
  { client, credentials, extensions }: OpenTransportOptions,
): Promise<Transport> {
  const { version } = chosen;
  const http = new AgentHttp({ client, version, credentials, extensions });
  switch (chosen.binding) {
    case "JSONRPC":
      return new JsonRpcTransport(chosen, http);
    case "HTTP+JSON":
      return new RestTransport(chosen, http);
    case "GRPC": {
      const channel = openGrpcChannel(client);
      if (channel === undefined) {
        throw new ClientError("unsupported", `${chosen.url} uses gRPC, which needs HTTP/2`);
      }
      const { GrpcTransport } = await import("./grpc.ts");
      return new GrpcTransport({ chosen, channel, credentials, extensions });
    }
    default:
      return chosen.binding satisfies never;
  }
}
