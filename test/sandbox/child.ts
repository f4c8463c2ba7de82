import { startSandbox } from '../../src/sandbox/sandbox.ts';

/*
 * A sandbox in a process of its own, for tests that kill it. Its argument is the data directory; it prints where it listens
 * as one line of JSON.
 */

const [dataDir] = process.argv.slice(2);
if (dataDir === undefined) throw new Error('usage: child <data directory>');

// Then a write beyond the file size limit is an error and does not end the process.
process.on('SIGXFSZ', () => undefined);

const sandbox = await startSandbox({ dataDir });
const { baseUrl, adminUrl, adminKey } = sandbox;
process.stdout.write(`${JSON.stringify({ baseUrl, adminUrl, adminKey, token: await sandbox.createToken() })}\n`);
