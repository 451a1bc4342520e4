import { describe, expect, test } from "vitest";
import { type Route, formatRoute, parseRoute } from "./route.ts";

const PAGES: readonly (readonly [string, Route])[] = [
  ["/", { page: "home" }],
  ["/chat", { page: "chat" }],
  ["/chat/greeter", { page: "chat", agent: "greeter" }],
  ["/chat/-/c%2F1", { page: "chat", contextId: "c/1" }],
  ["/tasks", { page: "tasks", filters: {} }],
  ["/tasks?status=working&agent=a", { page: "tasks", filters: { status: "working", agent: "a" } }],
  ["/tasks/t1", { page: "task", taskId: "t1", lens: "story" }],
  ["/tasks/t1/wire?at=58", { page: "task", taskId: "t1", lens: "wire", at: 58 }],
  ["/approvals", { page: "approvals" }],
  ["/pushes?state=dead", { page: "pushes", state: "dead" }],
  ["/agents/greeter", { page: "agents", agent: "greeter" }],
  ["/metrics", { page: "metrics" }],
];

describe("the address of a page", () => {
  test.each(PAGES)("%s leads to it and back", (address, route) => {
    expect(parseRoute(address)).toEqual(route);
    expect(formatRoute(route)).toBe(address);
  });

  test.each(["/tasks/t1?at=0", "/tasks/t1?at=-1", "/tasks/t1?at=x", "/tasks/t1?at=1e3"])(
    "%s shows the end of the log, because it names no position",
    (address) => {
      expect(parseRoute(address)).toEqual({ page: "task", taskId: "t1", lens: "story" });
    },
  );

  test("with a broken escape is shown as it is", () => {
    expect(parseRoute("/tasks/%zz")).toMatchObject({ taskId: "%zz" });
    expect(parseRoute("/nowhere")).toEqual({ page: "unknown", path: "/nowhere" });
  });
});
