import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { build } from 'esbuild';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { flush, outputSink, streamSink } from '../../../src/output/sink.ts';
import { memorySink } from '../../support/memory-sink.ts';

let directory: string;

/** Bundles a program that uses the sinks, to run with node. */
async function bundle(name: string, body: string): Promise<string> {
  const outfile = join(directory, `${name}.mjs`);
  const contents = `
    import { listResult as list } from './src/output/command-result.ts';
    import { render } from './src/output/render.ts';
    import { flush, streamSink } from './src/output/sink.ts';
    const stdout = streamSink(process.stdout);
    const stderr = streamSink(process.stderr);
    const columns = [{ header: 'N', value: ({ n }) => n }, { header: 'TEXT', value: ({ text }) => text }];
    ${body}
  `;
  await build({
    stdin: { contents, resolveDir: process.cwd(), loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  return outfile;
}

const ENDLESS = `
  let pulled = 0;
  let closed = false;
  function* endless() {
    try { for (;;) yield { n: ++pulled, text: 'x'.repeat(10_000) }; } finally { closed = true; }
  }
  const options = { format: process.argv[2], color: false, quiet: false };
  try {
    await render(list(endless(), columns, { empty: '' }), options, { stdout, stderr });
  } catch (error) {
    await stderr.write(JSON.stringify({ code: error.code, closed }));
  }
`;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'stream-sink-'));
});

afterAll(async () => {
  await rm(directory, { recursive: true });
});

describe('a pipe without a reader', () => {
  it.each(['tsv', 'json'])('fails with EPIPE and closes the row source (%s)', async (format) => {
    const path = await bundle('endless', ENDLESS);
    const { stdout, stderr } = await execa('sh', ['-c', `"${process.execPath}" "${path}" ${format} | head -1`], {
      timeout: 20_000,
    });
    expect(stdout.split('\n')).toHaveLength(1);
    expect(JSON.parse(stderr)).toEqual({ code: 'EPIPE', closed: true });
  });

  it('keeps failing with EPIPE, without an unhandled error', async () => {
    const path = await bundle(
      'again',
      `
      let failures = 0;
      for (let n = 0; n < 50_000 && failures < 3; n++) {
        await stdout.write('line\\n'.repeat(100)).catch((error) => { if (error.code === 'EPIPE') failures++; });
      }
      await flush(process.stdout);
      await stderr.write('failures ' + failures);
    `,
    );
    const { stderr, exitCode } = await execa('sh', ['-c', `"${process.execPath}" "${path}" | head -1 >/dev/null`]);
    expect([stderr, exitCode]).toEqual(['failures 3', 0]);
  });
});

describe('a slow reader', () => {
  it('receives all output before an explicit exit', async () => {
    const path = await bundle(
      'slow',
      `
      stdout.write('x'.repeat(3_000_000));
      stdout.write('end');
      await flush(process.stdout);
      process.exit(0);
    `,
    );
    const { stdout } = await execa('sh', ['-c', `"${process.execPath}" "${path}" | (sleep 0.2; cat)`]);
    expect(stdout).toHaveLength(3_000_003);
    expect(stdout.endsWith('end')).toBe(true);
  });

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

describe('a terminal', () => {
  it('reports its current width, or 80 if it has none', () => {
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 132 });
    const sink = streamSink(stream);
    expect([sink.isTTY, sink.columns]).toEqual([true, 132]);
    stream.columns = 40;
    expect(sink.columns).toBe(40);
    stream.columns = 0;
    expect(sink.columns).toBe(80);
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

  it('remembers an error that occurred between two writes', async () => {
    const stream = new Writable({ write: (_chunk, _encoding, done) => done() });
    const sink = streamSink(stream);
    await sink.write('x');
    stream.destroy(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    await new Promise((resolve) => stream.once('close', resolve));
    await expect(sink.write('y')).rejects.toMatchObject({ code: 'EPIPE' });
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
