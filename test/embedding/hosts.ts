import type { Mounted } from "convoke";
import { type RequestListener, createServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { cloneRawRequest } from "hono/request";
import { validator } from "hono/validator";

/** An app that has an agent at `/agent`. */
interface Host {
  readonly name: string;
  /** Options that the agent needs; Express provides them by itself. */
  readonly basePath?: string;
  /** Listens on a free port of 127.0.0.1. */
  open(mounted: Mounted): Promise<Server>;
}

/** Every way to embed an agent that the guide describes, and middleware that may precede it. */
export const HOSTS: readonly Host[] = [
  {
    name: "node:http",
    basePath: "/agent",
    open: ({ node }) => listening(node),
  },
  {
    name: "Express",
    open: ({ node }) => listening(express().use("/agent", node)),
  },
  {
    name: "Express with a router and parsed JSON",
    open: ({ node }) => {
      const router = express.Router().use("/agent", node);
      return listening(
        express()
          .use(express.json({ limit: "1mb", type: "*/*" }))
          .use("/", router),
      );
    },
  },
  {
    name: "Express with bodies as text, and a base path",
    basePath: "/agent",
    open: ({ node }) =>
      listening(
        express()
          .use(express.text({ limit: "1mb", type: "*/*" }))
          .use("/agent", node),
      ),
  },
  {
    name: "Express with bodies as bytes",
    open: ({ node }) =>
      listening(
        express()
          .use(express.raw({ limit: "1mb", type: "*/*" }))
          .all("/agent{/*path}", node),
      ),
    basePath: "/agent",
  },
  {
    name: "Fastify without a parser",
    basePath: "/agent",
    open: async ({ node }) => {
      const app = fastify();
      app.register(async (scope) => {
        scope.removeAllContentTypeParsers();
        scope.addContentTypeParser("*", (_request, _body, done) => done(null));
        for (const path of ["/agent", "/agent/*"]) {
          scope.all(path, (request, reply) => {
            reply.hijack();
            node(request.raw, reply.raw);
          });
        }
      });
      await app.listen({ port: 0, host: "127.0.0.1" });
      return app.server;
    },
  },
  {
    name: "Fastify with its parser",
    basePath: "/agent",
    open: async ({ node }) => {
      const app = fastify();
      for (const path of ["/agent", "/agent/*"]) {
        app.all(path, (request, reply) => {
          reply.hijack();
          node(Object.assign(request.raw, { body: request.body }), reply.raw);
        });
      }
      await app.listen({ port: 0, host: "127.0.0.1" });
      return app.server;
    },
  },
  {
    name: "Hono",
    basePath: "/agent",
    open: ({ fetch }) => serving(new Hono().all("/agent/*", (context) => fetch(context.req.raw))),
  },
  {
    name: "Hono that strips the path",
    basePath: "/agent",
    open: ({ fetch }) => serving(new Hono().mount("/agent", fetch)),
  },
  {
    name: "Hono behind a limit and a validator",
    basePath: "/agent",
    open: ({ fetch }) =>
      serving(
        new Hono().use(bodyLimit({ maxSize: 1_000_000 })).all(
          "/agent/*",
          validator("json", (value: unknown) => ({ value })),
          async (context) => fetch(await cloneRawRequest(context.req)),
        ),
      ),
  },
];

function serving({ fetch }: Hono): Promise<Server> {
  const server = createAdaptorServer({ fetch }) as Server;
  return bound(server);
}

function listening(listener: RequestListener): Promise<Server> {
  return bound(createServer(listener));
}

function bound(server: Server): Promise<Server> {
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

export function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent/`;
}
