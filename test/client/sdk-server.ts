import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Server as GrpcServer, ServerCredentials } from "@grpc/grpc-js";
import type { Express } from "express";

/** A server of an official SDK, on every binding that it has. */
export interface SdkServer {
  readonly url: string;
  /** The URLs on its card that are not public. */
  readonly allow: readonly string[];
  close(): Promise<void>;
}

/** The address of gRPC; the SDKs serve it on a separate port. */
export async function listenGrpc(server: GrpcServer): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
      if (error) reject(error);
      else resolve(port);
    });
  });
}

/** Finds a port before the card that has to name it is written. */
export async function listenHttp(app: Express): Promise<{ server: HttpServer; port: number }> {
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

export async function closeBoth(http: HttpServer, grpc: GrpcServer): Promise<void> {
  grpc.forceShutdown();
  const closed = once(http, "close");
  http.close();
  http.closeAllConnections();
  await closed;
}
