/** What goes before and after the bytes of a file in a multipart body. */
export interface MultipartFrame {
  readonly contentType: string;
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
}

export interface MultipartParts {
  /** Fields that go before the file, in order. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** The name of the field that holds the file. */
  readonly field: string;
  readonly filename: string;
  readonly contentType: string;
  /** In no part of the body: random. Letters, digits and hyphens. */
  readonly boundary: string;
}

/** As browsers do: quotes and line breaks are percent-encoded, everything else stays as it is, in UTF-8. */
function escapedName(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

/** A multipart/form-data body (RFC 7578, with names encoded as in the HTML standard) around the bytes of one file. */
export function multipartFrame({ fields, field, filename, contentType, boundary }: MultipartParts): MultipartFrame {
  const encoder = new TextEncoder();
  const parts = fields.map(
    ([name, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${escapedName(name)}"\r\n\r\n${value}\r\n`,
  );
  const disposition = `form-data; name="${escapedName(field)}"; filename="${escapedName(filename)}"`;
  const file = `--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: ${contentType}\r\n\r\n`;
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    head: encoder.encode(parts.join('') + file),
    tail: encoder.encode(`\r\n--${boundary}--\r\n`),
  };
}
