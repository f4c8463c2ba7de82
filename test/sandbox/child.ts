import { startSandbox } from '../../src/sandbox/sandbox.ts';

/*
 * A sandbox in a process of its own, for tests that end it the hard way. Its argument is the data directory; it says on
 * stdout, as one line of JSON, where it listens.
 */

const [dataDir] = process.argv.slice(2);
if (dataDir === undefined) throw new Error('usage: child <data directory>');

// A write beyond the file size limit of the process is then an error, not the end of the process.
process.on('SIGXFSZ', () => undefined);

const sandbox = await startSandbox({ dataDir });
const { baseUrl, adminUrl, adminKey } = sandbox;
process.stdout.write(`${JSON.stringify({ baseUrl, adminUrl, adminKey, token: await sandbox.createToken() })}\n`);
