import { describeBackend } from "@convoke/engine/testing";
import { opensEmptySchemas } from "./an-empty-schema.suite.ts";

describeBackend("the Postgres backend", opensEmptySchemas());
