import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { placeOf } from "./mount-path.ts";

test.each([
  ["a bare server", {}, "", { url: "/tasks?a=1" }, "/tasks?a=1", ""],
  ["a base path", {}, "/agent", { url: "/agent/tasks?a=/agent" }, "/tasks?a=/agent", "/agent"],
  ["a base path alone", {}, "/agent", { url: "/agent?a=1" }, "/?a=1", "/agent"],
  [
    "Express",
    { baseUrl: "/agent", originalUrl: "/agent/tasks" },
    "",
    { url: "/tasks" },
    "/tasks",
    "/agent",
  ],
  [
    "Express at its root",
    { baseUrl: "", originalUrl: "/tasks" },
    "",
    { url: "/tasks" },
    "/tasks",
    "",
  ],
  [
    "Express, and a base path",
    { baseUrl: "/agent", originalUrl: "/agent/tasks" },
    "/agent",
    { url: "/tasks" },
    "/tasks",
    "/agent",
  ],
  [
    "Connect",
    { originalUrl: "/agent/tasks?a=1" },
    "",
    { url: "/tasks?a=1" },
    "/tasks?a=1",
    "/agent",
  ],
  ["Connect at its root", { originalUrl: "/tasks" }, "", { url: "/tasks" }, "/tasks", ""],
])("%s", (_name, framework, option, node, target, basePath) => {
  const incoming = { ...node, ...framework } as unknown as IncomingMessage;

  expect(placeOf(incoming, option)).toEqual({ target, basePath });
});
