import { killAt } from './kill-point.ts';

/*
 * A sandbox in its own process, for tests that kill it. Its arguments are the data directory and, if it is to kill itself, the
 * point; it prints its settings as one line of JSON.
 */

const [dataDir, killPoint] = process.argv.slice(2);
if (dataDir === undefined) throw new Error('usage: child <data directory> [<kill point>]');

// Then a write beyond the file size limit is an error and does not end the process.
process.on('SIGXFSZ', () => undefined);

if (killPoint !== undefined) await killAt(killPoint);
const { startSandbox } = await import('../../src/sandbox/sandbox.ts');
const sandbox = await startSandbox({ dataDir });
const { baseUrl, adminUrl, adminKey } = sandbox;
process.stdout.write(`${JSON.stringify({ baseUrl, adminUrl, adminKey, token: await sandbox.createToken() })}\n`);
