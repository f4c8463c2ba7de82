import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs a measurement with a new directory, and removes it afterwards. */
export async function withDirectory(measure) {
  const directory = await mkdtemp(join(tmpdir(), 'partnerctl-bench-'));
  try {
    return await measure(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}
