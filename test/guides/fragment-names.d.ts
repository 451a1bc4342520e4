// Names that fragments of code in the docs use without their import or declaration, because the
// text around them says what they are. A fragment's own declarations hide these. Only the folder
// with the fragments is compiled with this file.
import type { Workspace } from "@convoke/coder";
import type * as convoke from "convoke";
import type expressModule from "express";
import type fastifyModule from "fastify";
import type * as hono from "hono";
import type * as http from "node:http";

declare global {
  const agent: convoke.Agent;
  const greeter: convoke.Agent;
  const poet: convoke.Agent;
  const hotels: convoke.Agent;
  const mounted: convoke.Mounted;
  const remote: convoke.RemoteAgent;
  const model: string;
  const token: string;
  const cert: string;
  const key: string;
  const clientAuthority: string;
  const owner: string;
  const contextId: string;
  const id: string;
  const translate: (text: string, formality?: unknown) => string;
  const answer: (text: string) => string;
  const findOrder: (text: string) => { readonly id: string; readonly total: number };
  const refund: (order: string, options: { readonly idempotencyKey: string }) => Promise<string>;
  const pay: { refund(order: object, options: { readonly idempotencyKey: string }): null };
  const workspace: Workspace;
  const app: expressModule.Express;

  const defineAgent: typeof convoke.defineAgent;
  const serve: typeof convoke.serve;
  const mount: typeof convoke.mount;
  const mtls: typeof convoke.mtls;
  const reject: typeof convoke.reject;
  const express: typeof expressModule;
  const fastify: typeof fastifyModule;
  const Hono: typeof hono.Hono;
  type IncomingMessage = http.IncomingMessage;
}
