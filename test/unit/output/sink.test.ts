import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { flush, outputSink, streamSink } from '../../../src/output/sink.ts';
import { memorySink } from '../../support/memory-sink.ts';

describe('a slow reader', () => {
  it('delays the writer', async () => {
    const stream = new PassThrough({ highWaterMark: 10 });
    const sink = streamSink(stream);
    await sink.write('x');
    let written = false;
    const second = sink.write('y'.repeat(10)).then(() => {
      written = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toBe(false);
    stream.resume();
    await second;
    expect(written).toBe(true);
  });
});

describe('a closed stream', () => {
  it('fails with EPIPE', async () => {
    const stream = new PassThrough();
    const sink = streamSink(stream);
    stream.destroy();
    await expect(sink.write('x')).rejects.toMatchObject({ code: 'EPIPE' });
    await flush(stream);
  });
});

describe('the output of a command', () => {
  it('is cleaned, and keeps the properties of the terminal', async () => {
    const inner = memorySink({ isTTY: true, columns: 132 });
    const sink = outputSink(inner, { clean: (text) => text.replace('secret', '[redacted]') });
    await sink.write('a secret\n');
    expect(inner.text()).toBe('a [redacted]\n');
    expect([sink.isTTY, sink.columns]).toEqual([true, 132]);
  });

  it('fails with an OutputError, unless it is a notice', async () => {
    const full = memorySink({ onWrite: () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })) });
    await expect(outputSink(full).write('x')).rejects.toThrow('The output cannot be written.');
    await expect(outputSink(full, { isOptional: true }).write('x')).resolves.toBeUndefined();
  });

  it('waits for its reader at most a second once the command is aborted', async () => {
    const stalled = memorySink({ onWrite: () => new Promise(() => undefined) });
    const reason = new Error('interrupted');
    const sink = outputSink(stalled, { signal: () => AbortSignal.abort(reason) });
    await expect(sink.write('x')).rejects.toBe(reason);
  });
});
