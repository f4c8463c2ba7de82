/** The size of a response above which it is refused, before and after it is decoded. */
export const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** Decodes a body: a proxy may encode it unasked. @throws an error of zlib; UNKNOWN_ENCODING */
export async function decodeBody(bytes: Uint8Array, contentEncoding = ''): Promise<Uint8Array> {
  // Some services state the charset there.
  const names = contentEncoding.toLowerCase().split(/[\s,]+/);
  const encodings = names.filter((name) => !/^(?:identity|utf-8)?$/.test(name));
  if (encodings.length === 0 || bytes.length === 0) return bytes;
  // Hardly any response is encoded, and each command would pay for loading it.
  const { gunzipSync, inflateSync, brotliDecompressSync } = await import('node:zlib');
  const decoders = new Map([
    ['gzip', gunzipSync],
    ['x-gzip', gunzipSync],
    ['deflate', inflateSync],
    ['br', brotliDecompressSync],
  ]);
  // The last one was applied last.
  return encodings.reduceRight((body, encoding) => {
    const decode = decoders.get(encoding);
    if (decode) return decode(body, { maxOutputLength: MAX_RESPONSE_BYTES });
    const message = `the response is in the encoding ${encoding}, which was not asked for`;
    throw Object.assign(new Error(message), { code: 'UNKNOWN_ENCODING' });
  }, bytes);
}
