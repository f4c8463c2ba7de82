import type { HttpResponse } from './transport.ts';

/** The size of a response above which it is refused, before and after it is decoded. */
export const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

type Response = Pick<HttpResponse, 'status' | 'headers' | 'bytes'>;

/**
 * Returns the body without its Content-Encoding: no request asks for one, but a proxy may add it.
 * @throws an error of zlib if the body is cut, damaged, or too large; UnknownEncoding
 */
export async function decodeBody({ status, headers, bytes }: Response, method: string): Promise<Uint8Array> {
  const names = (headers['content-encoding'] ?? '').toLowerCase().split(/[\s,]+/);
  // Some services state the charset there.
  const encodings = names.filter((name) => !/^(?:identity|utf-8)?$/.test(name));
  const isWithoutBody = method === 'HEAD' || status === 204 || headers['content-length'] === '0';
  if (encodings.length === 0 || isWithoutBody) return bytes;
  // Hardly any response is encoded, and each command would pay for loading it.
  const zlib = await import('node:zlib');
  const options = { maxOutputLength: MAX_RESPONSE_BYTES };
  // The last one was applied last.
  return encodings.reduceRight((body, encoding) => {
    if (/^(?:x-)?gzip$/.test(encoding)) return zlib.gunzipSync(body, options);
    if (encoding === 'br') return zlib.brotliDecompressSync(body, options);
    if (encoding !== 'deflate') throw new UnknownEncoding(encoding);
    // Some services leave the zlib header out.
    const hasHeader = ((body[0] ?? 0) & 0x0f) === 8;
    return hasHeader ? zlib.inflateSync(body, options) : zlib.inflateRawSync(body, options);
  }, bytes);
}

class UnknownEncoding extends Error {
  readonly code = 'UNKNOWN_ENCODING';

  constructor(encoding: string) {
    super(`the response is in the encoding ${encoding}, which was not asked for`);
  }
}
