// Child processes that end with the agent. Internal: not covered by semantic versioning.
export { MARK, childEnvironment, killAtExit, killGroup, killMarked } from "./child-group.ts";
export { ChildOutput } from "./child-output.ts";
export { ChildRecords } from "./child-records.ts";
