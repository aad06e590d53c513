export interface XmlElement {
  name: string;
  attributes: Readonly<Record<string, string | number>>;
  /** Elements, or text alone. */
  content: readonly XmlElement[] | string;
}

export function element(
  name: string,
  attributes: XmlElement["attributes"],
  content: XmlElement["content"] = [],
): XmlElement {
  return { name, attributes, content };
}

/** A whole document, indented by two blanks a level; ends in a line break. */
export function xmlDocument(root: XmlElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${serialize(root, "")}`;
}

function serialize({ name, attributes, content }: XmlElement, indent: string): string {
  const pairs = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${escapeAttribute(String(value))}"`,
  );
  const tag = `${indent}<${name}${pairs.join("")}`;
  if (content.length === 0) {
    return `${tag}/>\n`;
  }
  return typeof content === "string"
    ? `${tag}>${escapeText(content)}</${name}>\n`
    : `${tag}>\n${content.map((child) => serialize(child, `${indent}  `)).join("")}${indent}</${name}>\n`;
}

/** A reader would turn line breaks and tabs in an attribute into blanks. */
function escapeAttribute(text: string): string {
  return escapeText(text).replaceAll('"', "&quot;").replaceAll("\n", "&#10;").replaceAll("\t", "&#9;");
}

function escapeText(text: string): string {
  return withoutForbidden(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll("\r", "&#13;");
}

/** XML 1.0 has no way to write most control characters, lone surrogates and non-characters, not even by number. */
function withoutForbidden(text: string): string {
  return text.replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");
}
