// The published JSON Schema of a document: zod's, with field-descriptions.json for fields that have no description. A
// field's name means the same in all documents.
import { readFileSync } from "node:fs";

const descriptions = JSON.parse(readFileSync(new URL("field-descriptions.json", import.meta.url), "utf8"));

/** Adds descriptions; fields without one in either source stay without. */
export function described(schema) {
  if (Array.isArray(schema)) return schema.map(described);
  if (typeof schema !== "object" || schema === null) return schema;
  const inner = Object.entries(schema).map(([key, value]) => [
    key,
    key === "properties" ? describedFields(value) : described(value),
  ]);
  return Object.fromEntries(inner);
}

function describedFields(fields) {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const { description = descriptions[name], ...rest } = described(field);
      return [name, description === undefined ? rest : { description, ...rest }];
    }),
  );
}

/** Paths of the fields without a description, such as "cells.samples". */
export function undescribed(schema, path = []) {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties = {}, ...rest } = schema;
  const fields = Object.entries(properties).flatMap(([name, field]) => [
    ...(typeof field.description === "string" ? [] : [[...path, name].join(".")]),
    ...undescribed(field, [...path, name]),
  ]);
  return [...fields, ...Object.values(rest).flatMap((inner) => undescribed(inner, path))];
}
