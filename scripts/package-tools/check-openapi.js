// Checks an OpenAPI document against the OpenAPI specification: node check-openapi.js <file>
import { Validator } from "@seriousme/openapi-schema-validator";

const { valid, errors } = await new Validator().validate(process.argv[2]);
if (!valid) {
  console.log(typeof errors === "string" ? errors : JSON.stringify(errors, undefined, 2));
  process.exitCode = 1;
}
