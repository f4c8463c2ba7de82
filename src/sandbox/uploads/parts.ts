import type { IncomingMessage } from 'node:http';
import { finished, type Readable } from 'node:stream';
import { Dicer } from '@fastify/busboy';
import { Problem } from '../problem.ts';
import { type Disposition, parseDisposition } from './disposition.ts';

/** One part of a form. */
export interface Part extends Disposition {
  readonly contentType: string | undefined;
  /** Its bytes as they come; what follows in the form waits until they are read. */
  readonly body: AsyncIterable<Buffer>;
}

function malformed(reason: string): Problem {
  return new Problem(400, 'malformed_multipart', `The body is not valid multipart/form-data: ${reason}.`);
}

/** The first value of a header that the parser gives as a list of values by name. */
function headerOf(headers: object, name: string): string | undefined {
  const values: unknown = Reflect.get(headers, name);
  const first: unknown = Array.isArray(values) ? values[0] : undefined;
  return typeof first === 'string' ? first : undefined;
}

function describe(headers: object, body: Readable): Part {
  const disposition = parseDisposition(headerOf(headers, 'content-disposition') ?? '');
  if (!disposition) throw malformed('a part has no valid Content-Disposition');
  return { ...disposition, contentType: headerOf(headers, 'content-type')?.trim() || undefined, body };
}

/**
 * Hands the parts of a form over as they come, at the pace at which they are taken. Resolves when the body has come to
 * its end and every part was taken; after a failure when no part is being taken any more. The rest of a body that is
 * refused is not read, so that the answer can be sent before it has come.
 * @param maxBytes the largest body.
 * @param take what is done with a part.
 * @throws Problem 400 for a body that ends early or is no form, 413 for one that is too large, and what `take` throws.
 */
export async function readParts(
  incoming: IncomingMessage,
  boundary: string,
  maxBytes: number,
  take: (part: Part) => Promise<void>,
): Promise<void> {
  const parser = new Dicer({ boundary });
  const open = new Set<Readable>();
  const taken: Promise<void>[] = [];
  let received = 0;
  let described = 0;
  let begun = 0;
  let isComplete = false;
  let detach = (): void => undefined;
  const reading = new Promise<void>((resolve, reject) => {
    const onData = (chunk: Buffer): void => {
      received += chunk.length;
      if (received > maxBytes) reject(new Problem(413, 'body_too_large', `The body is larger than ${maxBytes} bytes.`));
      else if (!parser.write(chunk)) incoming.pause();
    };
    const onDrain = (): void => {
      incoming.resume();
    };
    const unwatch = finished(incoming, { writable: false }, (error) => {
      if (error) reject(new Problem(400, 'incomplete_body', 'The connection ended before the body did.'));
      else if (isComplete) resolve();
      else parser.end();
    });
    detach = () => {
      unwatch();
      parser.off('drain', onDrain);
      incoming.off('data', onData);
      if (!incoming.readableEnded) incoming.pause();
    };
    parser.on('drain', onDrain);
    parser.on('error', () => reject(malformed('it ends before its last boundary')));
    // The closing boundary was read. More of the body may follow; it counts for nothing, but it has to come.
    parser.on('finish', () => {
      isComplete = true;
      if (described < begun) reject(malformed('a part ends within its headers'));
      else if (incoming.readableEnded) resolve();
      else incoming.resume();
    });
    parser.on('part', (body) => {
      begun += 1;
      open.add(body);
      // What was wrong is said by the parser, or by whoever stopped taking the part.
      body.on('error', () => undefined);
      body.on('close', () => open.delete(body));
      body.on('header', (headers: object) => {
        described += 1;
        const taking = (async () => take(describe(headers, body)))();
        taken.push(taking);
        taking.catch(reject);
      });
    });
    incoming.on('data', onData);
  });
  try {
    await reading;
    await Promise.all(taken);
  } catch (error) {
    detach();
    for (const body of open) body.destroy(new Error('The form was refused.'));
    await Promise.allSettled(taken);
    throw error;
  }
  detach();
}
