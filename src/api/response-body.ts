import { TextDecoder } from 'node:util';
import { errorCode } from '../errors.ts';

/** The limit of a body, packed and unpacked. */
export const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** The body cannot be read, and a retry would get the same response. */
export class UnreadableBody extends Error {
  readonly code: 'BODY_TOO_LARGE' | 'BODY_ENCODING';

  constructor(code: UnreadableBody['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Unpacks the body of a response.
 * @param maxBytes the limit of the unpacked body; 64 MiB by default
 * @throws UnreadableBody if the body is larger or has an unsupported encoding
 */
export async function unpackBody(
  bytes: Buffer,
  encoding: string | undefined,
  maxBytes = MAX_RESPONSE_BYTES,
): Promise<Uint8Array> {
  const isPlain = encoding === undefined || encoding === 'identity' || bytes.length === 0;
  return isPlain ? bytes : await decode(bytes, encoding, maxBytes);
}

/** The error for a body that exceeds its limit. */
export function tooLargeError(maxBytes: number): UnreadableBody {
  return new UnreadableBody('BODY_TOO_LARGE', `the response is larger than ${maxBytes / 1024 / 1024} MiB`);
}

/** Some gateways compress responses although the request does not ask for it. */
async function decode(bytes: Buffer, encoding: string, maxBytes: number): Promise<Buffer> {
  const { brotliDecompressSync, gunzipSync, inflateSync } = await import('node:zlib');
  const decoders = new Map([
    ['gzip', gunzipSync],
    ['x-gzip', gunzipSync],
    ['deflate', inflateSync],
    ['br', brotliDecompressSync],
  ]);
  const decompress = decoders.get(encoding.toLowerCase());
  if (!decompress) {
    throw new UnreadableBody('BODY_ENCODING', `the response has the encoding ${encoding}, which was not requested`);
  }
  try {
    return decompress(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    const isTooLarge = errorCode(error) === 'ERR_BUFFER_TOO_LARGE';
    throw isTooLarge ? tooLargeError(maxBytes) : error;
  }
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });
const LENIENT = new TextDecoder();

/** Returns the decoders to try in turn. */
function decodersFor(contentType: string | undefined): readonly TextDecoder[] {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType ?? '')?.[1];
  if (charset === undefined || /^utf-?8$/i.test(charset)) return [UTF_8];
  try {
    const named = new TextDecoder(charset, { fatal: true });
    // Java servers name ISO-8859-1 (here windows-1252) by default, also for UTF-8. Other text is hardly ever valid UTF-8.
    return named.encoding === 'windows-1252' ? [UTF_8, named] : [named];
  } catch {
    return [UTF_8];
  }
}

/** Decodes a body by the charset of its Content-Type, or else as UTF-8, without its byte order mark. */
export function decodeText(bytes: Uint8Array, contentType: string | undefined): { text: string; isGarbled: boolean } {
  for (const decoder of decodersFor(contentType)) {
    try {
      return { text: decoder.decode(bytes), isGarbled: false };
    } catch {
      // The bytes are not in this encoding.
    }
  }
  return { text: LENIENT.decode(bytes), isGarbled: true };
}
