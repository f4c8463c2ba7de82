/** What a part of a form says of itself. */
export interface Disposition {
  readonly name: string;
  /** There for a file alone. */
  readonly filename: string | undefined;
}

const PARAMETER = /;[ \t]*([A-Za-z*]+)=(?:"([^"]*)"|([^\s";]*))[ \t]*/y;

const ESCAPES: Readonly<Partial<Record<string, string>>> = { '%22': '"', '%0D': '\r', '%0A': '\n' };

/** Takes back what browsers do to names: a quotation mark, CR and LF are escaped, and nothing else is. */
function unescaped(value: string): string {
  return value.replace(/%22|%0D|%0A/gi, (code) => ESCAPES[code.toUpperCase()] ?? code);
}

/**
 * Reads a part's Content-Disposition as browsers write it (HTML, "multipart/form-data"); a backslash is itself.
 * @param header its bytes, each as one character.
 * @returns undefined for one that is not a form field's, is not UTF-8, or says a thing twice.
 */
export function parseDisposition(header: string): Disposition | undefined {
  if (!/^form-data[ \t]*(?=;|$)/i.test(header)) return undefined;
  const found = new Map<string, string>();
  let position = header.indexOf(';');
  while (position !== -1 && position < header.length) {
    PARAMETER.lastIndex = position;
    const [all = '', name = '', quoted, bare = ''] = PARAMETER.exec(header) ?? [];
    const key = name.toLowerCase();
    if (all === '' || found.has(key)) return undefined;
    found.set(key, quoted ?? bare);
    position += all.length;
  }
  try {
    const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    const text = (value: string): string => unescaped(utf8.decode(Buffer.from(value, 'latin1')));
    const name = found.get('name');
    const filename = found.get('filename');
    if (name === undefined) return undefined;
    return { name: text(name), filename: filename === undefined ? undefined : text(filename) };
  } catch {
    return undefined;
  }
}
