import { printableText } from "../printable-text.js";

/** Text of a page or a picture that is already escaped. Only the functions below make it. */
export class Markup {
  readonly text: string;
  /** `text` must be markup already. */
  constructor(text: string) {
    this.text = text;
  }
}

/** The content of an element: markup, or any text, which is escaped; null, undefined and false are empty. */
export type Content = Markup | string | number | null | undefined | false | readonly Content[];

/** Attributes by name: undefined, null and false omit one, true writes one without a value. Numbers are rounded. */
type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Elements of HTML without an end tag. */
const voidElements = new Set(["meta", "br", "wbr", "hr", "link", "img", "input", "col"]);

/** An HTML or SVG element. Names of elements and attributes must be pinbench's own, because they are not escaped. */
export function element(name: string, attributes: Attributes, ...content: Content[]): Markup {
  const written = Object.entries(attributes).flatMap(([key, value]) => {
    if (value === undefined || value === null || value === false) return [];
    return value === true ? [` ${key}`] : [` ${key}="${escapeMarkup(attributeText(value))}"`];
  });
  const start = `<${name}${written.join("")}>`;
  return new Markup(voidElements.has(name) ? start : `${start}${join(content)}</${name}>`);
}

export function fragment(...content: Content[]): Markup {
  return new Markup(join(content));
}

function join(content: readonly Content[]): string {
  return content
    .map((part) => {
      if (part === null || part === undefined || part === false) return "";
      if (part instanceof Markup) return part.text;
      return Array.isArray(part) ? join(part) : escapeMarkup(String(part));
    })
    .join("");
}

/** Two decimals of a pixel are more than an eye can see. */
function attributeText(value: string | number): string {
  return typeof value === "number" ? String(Math.round(value * 100) / 100) : value;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Characters that XML forbids even as escapes (XML 1.0, 2.2), besides control characters: includes lone surrogates. */
const notInXml = /[\ufffe\uffff\p{Surrogate}]/gu;

/** Text for use between tags and in quoted attributes; control characters become visible. */
function escapeMarkup(text: string): string {
  return printableText(text)
    .replace(notInXml, "\ufffd")
    .replace(/[&<>"']/g, (character) => entities[character]!);
}
