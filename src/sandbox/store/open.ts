import { open } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { check } from '../shapes.ts';
import { KEY_FILE } from './admin-key.ts';
import { claim } from './claim.ts';
import { ownDirectory, readIfThere, replaceFile, sweep } from './files.ts';
import { Journal } from './journal.ts';
import { readLines, writeLine } from './lines.ts';
import { journaledStore, type Store } from './store.ts';
import { keptUploads, UPLOADS_DIRECTORY } from './upload-files.ts';
import { changeSchema, World } from './world.ts';

const JOURNAL = 'journal.jsonl';

/** Whether a file is one that a sandbox makes in its data directory, or a half-written one. */
function isOwn(name: string): boolean {
  return name.startsWith(JOURNAL) || name.startsWith(KEY_FILE) || name === UPLOADS_DIRECTORY;
}

/** A journal is rewritten when it holds this many changes more than twice those that still count. */
const SLACK = 1_000;

const CHANGES_IN_A_LINE = 1_000;

function* linesOf(world: World): Generator<string> {
  let changes: string[] = [];
  for (const change of world.changes()) {
    changes.push(JSON.stringify(change));
    if (changes.length < CHANGES_IN_A_LINE) continue;
    yield writeLine(changes);
    changes = [];
  }
  if (changes.length > 0) yield writeLine(changes);
}

function count(items: Iterable<unknown>): number {
  let length = 0;
  for (const _ of items) length += 1;
  return length;
}

/** Reads the journal into a world, cuts a torn last line off, and makes the file short again when it has grown long. */
async function recover(path: string): Promise<World> {
  const bytes = await readIfThere(path);
  const world = new World();
  if (!bytes) {
    await replaceFile(path, []);
    return world;
  }
  const { changes, intactBytes } = readLines(bytes);
  for (const change of changes) {
    const result = check(changeSchema, change);
    if (!result.ok)
      throw new Error(`it holds a change that this version does not know: ${JSON.stringify(result.fields)}`);
    world.apply(result.value);
  }
  if (changes.length > 2 * count(world.changes()) + SLACK) {
    await replaceFile(path, linesOf(world));
  } else if (intactBytes < bytes.length) {
    const file = await open(path, 'r+');
    try {
      await file.truncate(intactBytes);
      await file.sync();
    } finally {
      await file.close();
    }
  }
  return world;
}

/**
 * Opens a data directory, made when it is not there.
 * @throws Error when another live sandbox uses it, when it holds other things, or when its journal is damaged.
 */
export async function openStore(directory: string): Promise<Store> {
  const path = join(resolve(directory), JOURNAL);
  await ownDirectory(dirname(path), isOwn);
  const release = await claim(dirname(path));
  try {
    await sweep(dirname(path), isOwn);
    const world = await recover(path);
    const files = await keptUploads(dirname(path), (id) => world.uploads.get(id) !== undefined);
    const file = await open(path, 'a');
    await file.chmod(0o600);
    return journaledStore(world, files, new Journal(file), release);
  } catch (cause) {
    await release();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`The sandbox's journal ${path} cannot be opened: ${reason}.`, { cause });
  }
}
